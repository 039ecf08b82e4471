"""The Chinese near-duplicates; plants_en.py explains the kinds."""

from __future__ import annotations

from .plants import Plant
from .text import add, cut, headline, order, swap, without_captions

SESSIONS = (
    Plant("session", "zh-tea", (swap("四十多名采茶人", "五十多名采茶人"),)),
    Plant(
        "session",
        "zh-metro",
        (
            swap("三十二万人次，比预计多出将近四成", "三十四万人次，比预计多出四成以上"),
            add("更正：本文早前的版本把客流达到的数字误写为三十二万人次，现已改正。"),
        ),
    ),
    Plant(
        "session",
        "zh-canteen",
        (
            swap("去年亏了两万一千元", "去年亏损两万多元"),
            add(
                "最新消息：街道办事处今天下午宣布，明年起将为食堂添置一台洗碗机和两辆送餐用的"
                "三轮车，晚饭的供应时间也会延长到七点半。",
                at=0,
            ),
        ),
    ),
)

PRINTS = (
    Plant("print", "zh-crane", (without_captions,)),
    Plant(
        "print", "zh-noodle", (without_captions, swap("，不接受预订，也不送外卖", "，不接受预订"))
    ),
    Plant(
        "print",
        "zh-bridge",
        (
            swap("當時有人主張用混凝土另建新橋，鎮上的居民開了四次會，最後還是", "鎮上的居民"),
            swap("石匠們圍著模型爭論，有時候為了一塊石頭要討論一整天。", ""),
        ),
    ),
)

MIRRORS = (
    Plant(
        "mirror",
        "zh-rice",
        (
            swap("六架无人机在空中", "四架无人机在空中"),
            swap("报名的有七十多人，年纪最大的七十一岁。", "报名的有五十多人。"),
            swap("今年农技站换了一个矮秆的品种，并且要求播种之前把水放浅，让种子扎得深一点。", ""),
        ),
    ),
    Plant(
        "mirror",
        "zh-canteen",
        (swap("今年前九个月持平", "今年上半年持平"),),
    ),
)

SYNDICATED = (
    Plant(
        "syndicated",
        "zh-tea",
        (headline("蚯蚓回来了，年轻人也回来了"), cut(-1)),
    ),
    Plant(
        "syndicated",
        "zh-bridge",
        (
            headline("一百三十二塊石頭的歸途"),
            swap("橫跨清溪的五孔石拱橋上個月重新開放通行。", "修復了兩年的清溪石拱橋終於通行。"),
        ),
    ),
    Plant(
        "syndicated",
        "zh-rice",
        (add("编者按：本文转自合作媒体。", at=0), swap("老农站在田埂上看着，他说", "老农说")),
    ),
)

REORDERED = (
    Plant("reordered", "zh-metro", (order(0, 1, 4, 3, 2, 5), swap("最高七元", "最高八元"))),
    Plant(
        "reordered",
        "zh-crane",
        (order(0, 1, 6, 2, 3, 4, 5), swap("每天最多接待六十人", "每天接待六十人")),
    ),
    Plant(
        "reordered",
        "zh-noodle",
        (
            order(0, 1, 6, 4, 5, 2, 3),
            swap("厨房朝着大堂开了一扇玻璃窗，", ""),
            swap("第二锅面端给抬石圈的八个人。", "第二锅面端给抬过石圈的人。"),
        ),
    ),
)

PLANTS = SESSIONS + PRINTS + MIRRORS + SYNDICATED + REORDERED
