"""Words for generated pages: an invented language written in Latin letters, and Chinese."""

from __future__ import annotations

import itertools
import random
from functools import lru_cache
from typing import NamedTuple

_VOCABULARY = 20_000
_TOPICS = 400
_TOPIC_WORDS = 300
_CHINESE_TOPIC_WORDS = 60
_SYLLABLES = (
    "ba be bel bor ca car ce cha cor da del den do dra du el en fa fer fin for ga gen gra ha hel "
    "hu in ja jo ka ken kor la lan le lin lo lu ma mar men mi mor na nel ni no nu or pa pel per "
    "po pra ra ren ri ro ru sa sel sha si sor sta su ta tel ten ti to tra tu ul va ven vi vo wa "
    "wen za zo"
).split()

# The most frequent first, as in any text.
_FUNCTION_WORDS = (
    "the of and to a in that is was it for on with as be at by had not are but from or have an "
    "they which one you were all her she there would their we him been has when who will no more "
    "if out so up said what its about than into them can only other time new some could these two "
    "may first then do any like my now over such our man me even most made after also did many "
    "off before must well back through years much where your way down should because long each "
    "just state those people too mr how little good"
).split()
_CHINESE_FUNCTION_WORDS = (
    "的 了 在 是 和 有 也 就 不 都 与 对 从 而 为 上 中 将 被 把 这 那 一个 他们 我们 已经 可以 "
    "以及 因为 所以 但是 如果 还是 或者 通过 根据 关于 没有 可能 需要 其中 同时 目前 由于 为了 "
    "这些 进行 成为 认为 表示 开始 继续 之后 之前 许多 一些 非常 更加 仍然 并且 虽然"
).split()
_CHINESE_WORDS = (
    "城市 乡村 河流 山脉 森林 海洋 湖泊 沙漠 草原 岛屿 桥梁 隧道 铁路 公路 机场 港口 车站 码头 "
    "学校 大学 医院 图书馆 博物馆 剧院 公园 广场 市场 商店 工厂 农场 银行 法院 邮局 宾馆 餐厅 "
    "教师 学生 医生 护士 工人 农民 士兵 警察 律师 记者 作家 画家 演员 歌手 导演 科学家 工程师 "
    "经济 政治 文化 历史 科学 技术 艺术 音乐 文学 哲学 数学 物理 化学 生物 地理 天文 医学 法律 "
    "政府 议会 总统 部长 市长 委员会 选举 投票 政策 法规 条约 协议 会议 谈判 外交 战争 和平 军队 "
    "公司 企业 产品 服务 价格 成本 利润 投资 贸易 出口 进口 税收 预算 债务 股票 基金 保险 贷款 "
    "电脑 手机 网络 软件 硬件 数据 信息 系统 程序 机器 机器人 电池 芯片 屏幕 卫星 火箭 飞机 汽车 "
    "火车 轮船 自行车 发动机 能源 石油 煤炭 天然气 电力 太阳能 风力 核电 钢铁 水泥 木材 玻璃 塑料 "
    "粮食 小麦 水稻 玉米 大豆 棉花 蔬菜 水果 苹果 香蕉 葡萄 茶叶 咖啡 牛奶 面包 鸡蛋 猪肉 牛肉 "
    "鱼类 鸟类 老虎 大象 熊猫 狮子 猴子 蝴蝶 蜜蜂 树木 花朵 种子 土壤 肥料 灌溉 收获 气候 天气 "
    "温度 降雨 台风 洪水 干旱 地震 火山 污染 环境 保护 资源 垃圾 空气 水质 噪音 生态 物种 进化 "
    "健康 疾病 病毒 细菌 疫苗 药物 治疗 手术 症状 心脏 血液 大脑 骨骼 肌肉 皮肤 睡眠 营养 运动 "
    "足球 篮球 排球 乒乓球 游泳 跑步 比赛 冠军 球队 教练 观众 奖牌 纪录 训练 体育场 奥运会 "
    "家庭 父母 孩子 婚姻 朋友 邻居 老人 青年 妇女 人口 移民 宗教 传统 节日 习俗 语言 文字 方言 "
    "教育 课程 考试 教材 论文 研究 实验 发现 发明 理论 方法 结果 分析 调查 统计 报告 问题 答案 "
    "电影 电视 广播 报纸 杂志 小说 诗歌 故事 戏剧 舞蹈 绘画 雕塑 摄影 建筑 设计 展览 作品 收藏 "
    "国王 皇帝 王朝 帝国 革命 改革 独立 殖民 古代 现代 世纪 年代 遗址 文物 墓葬 陶器 青铜 丝绸 "
    "颜色 红色 蓝色 绿色 黄色 白色 黑色 形状 大小 长度 重量 速度 时间 空间 距离 方向 中心 边缘 "
    "建立 发展 增加 减少 改变 提高 降低 支持 反对 批评 参加 组织 管理 控制 生产 销售 购买 使用 "
    "制造 运输 建设 修复 破坏 开放 关闭 合作 竞争 领导 监督 检查 测试 测量 计算 记录 描述 解释 "
    "重要 主要 一般 特殊 复杂 简单 困难 容易 安全 危险 稳定 迅速 缓慢 广泛 著名 普通 传统 独特"
).split()


class Vocabulary(NamedTuple):
    """The vocabulary of a language.

    :param space: between words.
    :param comma: with what follows it.
    :param stop: ends a sentence.
    """

    function_words: list[str]
    words: list[str]
    topic_words: int
    space: str
    comma: str
    stop: str


class Topic(NamedTuple):
    """What a page is about: words, the likeliest first."""

    number: int
    words: list[str]


@lru_cache(maxsize=4)
def vocabulary(seed: int, *, chinese: bool) -> Vocabulary:
    """Return the words of a language."""
    if chinese:
        words = list(dict.fromkeys(_CHINESE_WORDS))
        return Vocabulary(
            _CHINESE_FUNCTION_WORDS, words, _CHINESE_TOPIC_WORDS, space="", comma="，", stop="。"
        )
    dice = random.Random(f"{seed}/vocabulary")
    made = dict.fromkeys(
        "".join(dice.choices(_SYLLABLES, k=dice.randint(2, 4))) for _ in range(2 * _VOCABULARY)
    )
    words = list(made)[:_VOCABULARY]
    return Vocabulary(_FUNCTION_WORDS, words, _TOPIC_WORDS, space=" ", comma=", ", stop=".")


@lru_cache(maxsize=2 * _TOPICS)
def topic(seed: int, number: int, *, chinese: bool) -> Topic:
    """One of the topics; pages of one topic share words, no more."""
    known = vocabulary(seed, chinese=chinese)
    dice = random.Random(f"{seed}/topic/{number}/{chinese}")
    return Topic(number, dice.sample(known.words, known.topic_words))


def drawn_topic(seed: int, dice: random.Random, *, chinese: bool) -> Topic:
    """Return a random topic."""
    return topic(seed, dice.randrange(_TOPICS), chinese=chinese)


@lru_cache(maxsize=64)
def zipf(count: int) -> list[float]:
    """Cumulative weights: the n-th word is n times as rare as the first (Zipf), or a little less,
    for the first few would fill a page.
    """
    return list(itertools.accumulate(1 / (rank + 3) for rank in range(count)))


def drawn(dice: random.Random, words: list[str], count: int) -> list[str]:
    """So many words, the first of the list most often."""
    return dice.choices(words, cum_weights=zipf(len(words)), k=count)
