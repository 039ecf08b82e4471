"""From text to tokens: folding, characters, groups of characters, words."""
