"""`arena train`: make sellers by GRPO, from a plan that can be read first."""

from typing import Annotated, Literal

import typer

from arena.commands.options import AsJson, Db, split_names
from arena.commands.request import option

WHAT = "What is trained, on what, against whom"
LEARNING = "How it learns"
MACHINE = "Where it is computed"
AROUND = "The run"

Size = Annotated[str | None, option(WHAT, "tiny, tiny-conventional, 2.3b, 4.5b, 12b or 31b.", "SIZE")]
Model = Annotated[str | None, option(WHAT, "Another model, or a checkpoint of that size.", "ID|FOLDER")]
Buyers = Annotated[str | None, option(WHAT, "Agents, by commas. [default: scripted strategies]", "A,B")]
Domains = Annotated[
    str | None, option(WHAT, "Names, suites or files. [default: all open; tiny: suite small]", "X,Y")
]
Scenarios = Annotated[int | None, option(WHAT, "Of the train split, a domain. [default: 512]", min=1)]
Prompt = Annotated[str | None, option(WHAT, "Prompt version. [default: the newest that fits]")]
Turns = Annotated[int | None, option(WHAT, "Turns a side, announced. [default: hidden, 6 to 12]", min=1)]
Lr = Annotated[float | None, option(LEARNING, "Learning rate. [default: 1e-6; tiny: 6e-4]")]
Steps = Annotated[int | None, option(LEARNING, "[default: 104; tiny: 60]", min=1)]
GroupSize = Annotated[
    int | None, option(LEARNING, "Dialogues of one cell, compared with each other. [default: 8]", min=2)
]
GroupsPerStep = Annotated[int | None, option(LEARNING, "Cells a step. [default: 16; tiny: 6]", min=1)]
Beta = Annotated[float | None, option(LEARNING, "Weight of the KL to the base. [default: 0.01]", min=0)]
LossType = Annotated[Literal["grpo", "dapo", "bnpo"] | None, option(LEARNING, "[default: dapo]")]
Seed = Annotated[int | None, option(LEARNING, "[default: 0]", min=0, max=2**32 - 1)]
ShuffledRewards = Annotated[
    bool | None, option(LEARNING, "A negative control: rewards dealt to dialogues at random.")
]
Vllm = Annotated[
    Literal["off", "colocate", "server"] | None,
    option(MACHINE, "Where answers are sampled; server takes its URL. [default: by size]"),
]
Url = Annotated[
    str | None, typer.Argument(help="Of the vLLM server, after --vllm server.", show_default=False)
]
MicroBatch = Annotated[
    int | None,
    option(MACHINE, "Dialogues a GPU learns from at once. [default: 1; on a CPU: all]", min=1),
]
ReportTo = Annotated[
    Literal["tensorboard", "trackio", "wandb"] | None, option(MACHINE, "Log there too.")
]
Name = Annotated[str | None, option(AROUND, "Of the run. [default: the size and a number]")]
Out = Annotated[str, option(AROUND, "Where runs lie, a folder each.", "FOLDER")]
SaveSteps = Annotated[
    int | None, option(AROUND, "A checkpoint every so many steps. [default: 26; tiny: 30]", min=1)
]
Resume = Annotated[str | None, option(AROUND, "Go on with a run; needs no other option.", "RUN")]
Evaluate = Annotated[
    str | None, option(AROUND, "Then play base and checkpoints by this design.", "FILE|HASH")
]
DryRun = Annotated[bool, option(AROUND, "Print the plan, and stop. Needs no GPU and no torch.")]
Yes = Annotated[bool, option(AROUND, "Play against agents that cost money.")]


def train(
    size: Size = None,
    model: Model = None,
    buyers: Buyers = None,
    domains: Domains = None,
    scenarios: Scenarios = None,
    prompt: Prompt = None,
    turns: Turns = None,
    lr: Lr = None,
    steps: Steps = None,
    group_size: GroupSize = None,
    groups_per_step: GroupsPerStep = None,
    beta: Beta = None,
    loss_type: LossType = None,
    seed: Seed = None,
    shuffled_rewards: ShuffledRewards = None,
    vllm: Vllm = None,
    url: Url = None,
    micro_batch: MicroBatch = None,
    report_to: ReportTo = None,
    name: Name = None,
    save_steps: SaveSteps = None,
    evaluate: Evaluate = None,
    resume: Resume = None,
    out: Out = "runs",
    dry_run: DryRun = False,
    yes: Yes = False,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Train a seller by GRPO against a frozen pool of buyers, register its checkpoints, and choose the
    best of them on the dev split.

    Prints its plan first. On several GPUs it starts itself through accelerate. Exits with 0 when the run
    is done, with 1 when it ended early or an evaluation is incomplete, with 2 where the options are
    wrong or something is missing here.
    """
    options = dict(locals())
    from arena.commands import train_request, train_run

    for names in ("buyers", "domains"):
        options[names] = split_names(options[names])
    request = train_request.request_of(options)
    train_request.tell(request)
    if not dry_run:
        train_run.start(request)
