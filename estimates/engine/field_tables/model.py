"""Fields that say what model is trained, and on what objective."""

from estimates.engine.field_kinds import COUNT, SHARE_ABOVE_ZERO, Bounds, choice, number, table
from estimates.engine.field_tables.goal import TRAINING

WITH_MODEL = TRAINING | {"inference", "evaluation"}
ARCHITECTURES = {
    "decoder": ("Decoder", "解码器"),
    "encoder": ("Encoder", "编码器"),
    "encoder_decoder": ("Encoder and decoder", "编码器-解码器"),
}
OPTIMISERS = {
    "adam": ("Adam, AdamW", "Adam、AdamW"),
    "adam_8bit": ("Adam with 8-bit states", "8 位 Adam"),
    "adafactor": ("Adafactor", "Adafactor"),
    "lion": ("Lion", "Lion"),
    "muon": ("Muon", "Muon"),
    "sgd": ("SGD with momentum", "带动量的 SGD"),
}
PARAMETERS = Bounds(1, 1e15)

MODEL = (
    choice("model.architecture", "Architecture", "模型结构", ARCHITECTURES, section="model", default="decoder"),
    number(
        "model.parameters",
        "parameter",
        PARAMETERS,
        "Parameters",
        "参数量",
        section="model",
        tasks=WITH_MODEL,
        basic=True,
    ),
    number(
        "model.active_parameters",
        "parameter",
        PARAMETERS,
        "Active parameters",
        "激活参数量",
        ("For a mixture of experts: those one token passes.", "混合专家模型：单个 token 经过的参数。"),
        section="model",
    ),
    number(
        "model.embedding_parameters",
        "parameter",
        COUNT,
        "Input embedding",
        "输入嵌入参数量",
        (
            "Only looked up, never multiplied; left out of the FLOPs. It matters below 3B.",
            "仅查表、不参与乘法，不计入 FLOPs；3B 以下影响明显。",
        ),
        section="model",
        default=0.0,
    ),
    number("model.layers", "1", Bounds(1, 10000), "Layers", "层数", section="model", whole=True),
    number("model.hidden_size", "1", Bounds(1, 1e7), "Hidden size", "隐藏层宽度", section="model", whole=True),
    number(
        "model.sequence_length", "token", Bounds(1, 1e9), "Sequence length", "序列长度", section="model", whole=True
    ),
    number(
        "model.attention_width",
        "1",
        Bounds(1, 1e7),
        "Attention width",
        "注意力宽度",
        ("Heads × head size; the hidden size unless given.", "注意力头数 × 单头宽度；默认等于隐藏层宽度。"),
        section="model",
        whole=True,
    ),
    number(
        "model.attention_window.tokens",
        "token",
        Bounds(1, 1e9),
        "Sliding window",
        "滑动窗口长度",
        section="model",
        whole=True,
    ),
    number(
        "model.attention_window.share_of_layers",
        "share",
        SHARE_ABOVE_ZERO,
        "Share of layers with the window",
        "使用滑动窗口的层占比",
        section="model",
        default=1.0,
    ),
    number(
        "model.flops_per_parameter_token",
        "FLOP/parameter/token",
        Bounds(0, 100, open_low=True),
        "FLOPs per parameter and token",
        "每参数每 token 的 FLOPs",
        (
            "6 for one stack; encoder-decoder models lie near 3.7 and must say so.",
            "单塔模型为 6；编码器-解码器模型约 3.7，须明确给出。",
        ),
        section="model",
        default=6.0,
    ),
    number(
        "model.training_flops",
        "FLOP",
        Bounds(1, 1e35),
        "Training FLOPs, if stated",
        "已知训练 FLOPs",
        ("Wins over 6 · parameters · tokens.", "优先于 6 · 参数量 · token 数。"),
        section="model",
    ),
    number(
        "model.teacher_parameters",
        "parameter",
        Bounds(0, 1e15),
        "Teacher parameters",
        "教师模型参数量",
        ("Distillation adds the teacher's forward pass.", "蒸馏会增加教师模型的前向计算。"),
        section="model",
        default=0.0,
    ),
    choice("model.optimiser", "Optimiser", "优化器", OPTIMISERS, section="model", default="adam"),
    table(
        "model.stages",
        "Stages of growth",
        "分阶段扩展",
        ("A model that grows: the work is the sum over the stages.", "逐步扩大的模型：计算量为各阶段之和。"),
        section="model",
        tasks=TRAINING,
        most_rows=50,
    ),
    number(
        "model.stages.*.parameters", "parameter", PARAMETERS, "Parameters", "参数量", section="model", required=True
    ),
    number("model.stages.*.tokens", "token", Bounds(1, 1e18), "Tokens", "token 数", section="model", required=True),
    number(
        "model.stages.*.layers",
        "1",
        Bounds(1, 10000),
        "Layers",
        "层数",
        (
            "Left out in all stages: as of the model, smaller with the parameters.",
            "各阶段均不填时按整个模型随参数量缩小。",
        ),
        section="model",
        whole=True,
    ),
    number(
        "model.stages.*.hidden_size",
        "1",
        Bounds(1, 1e7),
        "Hidden size",
        "隐藏层宽度",
        section="model",
        whole=True,
    ),
)

OBJECTIVES = {
    "causal": ("Next token", "自回归"),
    "masked": ("Masked tokens", "掩码预测"),
    "sentence_pair": ("Sentence pairs", "上下句判断"),
}
OBJECTIVE = (
    choice("objective.kind", "Objective", "预训练任务", OBJECTIVES, section="model", tasks=TRAINING, default="causal"),
    number(
        "objective.signal_share",
        "share",
        SHARE_ABOVE_ZERO,
        "Tokens that give a learning signal",
        "产生学习信号的 token 占比",
        ("About 15 % when tokens are masked.", "掩码任务约为 15%。"),
        section="model",
        default=1.0,
    ),
)
