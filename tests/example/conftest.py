"""Makes the example project importable; it is a separate project and isn't installed."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "example_project"))
