"""The callbacks in a real Trainer of transformers, on a tiny model made here."""

import re

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("accelerate", reason="accelerate is not installed: pip install -r scripts/requirements-frameworks.txt")
transformers = pytest.importorskip(
    "transformers", reason="transformers is not installed: pip install -r scripts/requirements-frameworks.txt"
)

from frameworks import Marks  # noqa: E402
from lowtide.hf import CleanupCallback, LoggingCallback, LowtideCallback  # noqa: E402


class Data(torch.utils.data.Dataset):
    def __init__(self, length):
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, i):
        return {"input_ids": torch.arange(8) + i % 4, "labels": torch.arange(8)}


def trainer(folder, callbacks, **settings):
    config = transformers.GPT2Config(vocab_size=32, n_positions=8, n_embd=8, n_layer=1, n_head=1)
    settings = {
        "per_device_train_batch_size": 2,
        "num_train_epochs": 2,
        "eval_strategy": "epoch",
        "save_strategy": "no",
    } | settings
    arguments = transformers.TrainingArguments(
        output_dir=str(folder), report_to=[], use_cpu=True, disable_tqdm=True, logging_steps=2, **settings
    )
    return transformers.Trainer(
        transformers.GPT2LMHeadModel(config), arguments, train_dataset=Data(8), eval_dataset=Data(4), callbacks=callbacks
    )


def test_marks(tmp_path, monkeypatch):
    marks = Marks(monkeypatch)
    trainer(tmp_path, [LowtideCallback()], save_strategy="epoch").train()
    epoch = ["step"] * 4 + ["phase validation", "phase train", "phase checkpoint", "phase train"]
    assert marks.lines == ["phase train", "epoch 0", *epoch, "epoch 1", *epoch, "phase ends", "epoch ends"]


def test_steps_are_optimizer_steps(tmp_path, monkeypatch):
    marks = Marks(monkeypatch)
    trainer(tmp_path, [LowtideCallback()], gradient_accumulation_steps=2, eval_strategy="no").train()
    assert marks.lines.count("step") == 4


def test_an_evaluation_alone(tmp_path, monkeypatch):
    marks = Marks(monkeypatch)
    trainer(tmp_path, [LowtideCallback()]).evaluate()
    assert marks.lines == ["phase validation", "phase ends"]


def test_memory_in_the_trainers_own_log(tmp_path, capsys):
    seen = []

    class Logger(transformers.TrainerCallback):
        def on_log(self, args, state, control, logs=None, **kwargs):
            seen.append(dict(logs))

    kept = []

    class Leak(transformers.TrainerCallback):
        def on_step_end(self, *args, **kwargs):
            kept.append([torch.zeros(3, 1 << 18)])

    run = trainer(tmp_path, [Logger(), LoggingCallback(every=2), Leak()])
    run.train()
    ours = [one for one in seen if "lowtide/rss_mib" in one]
    assert len(ours) == 4 + 2 + 1  # every second of 8 steps, two evaluations, the end
    assert all(one["lowtide/rss_mib"] > 50 and one["lowtide/gc_objects"] > 1000 for one in ours)
    assert ours[-1]["lowtide/objects/torch.Tensor"] >= 8
    assert ours[-1]["lowtide/largest_tensor_mib"] == 3
    # Its own logs are not suppressed by ours.
    assert len([one for one in seen if "loss" in one]) == 4
    assert any("lowtide/rss_mib" in one for one in run.state.log_history)
    shown = capsys.readouterr().err
    assert "at the end of training" in shown
    assert "[3, 262144]" in shown


def test_cleanup(tmp_path, capsys):
    trainer(tmp_path, [CleanupCallback(every=2)]).train()
    shown = capsys.readouterr().err
    # Due after every second step and both evaluations. All have had their three tries after four of these (young objects are
    # collected from the second on); whether something pays after that is the machine's business.
    assert re.search(r"clean-up: [456] times in 8 steps", shown), shown
    # Nothing to free: judged after three tries.
    assert "zero_grad(set_to_none=True): tried 3 times" in shown
    assert "gc.collect: tried" in shown and "malloc_trim: tried" in shown


def test_a_failing_callback_does_not_end_the_training(tmp_path, capsys, monkeypatch):
    from lowtide import _memory

    monkeypatch.setattr(_memory, "read", lambda: 1 / 0)
    run = trainer(tmp_path, [LoggingCallback(every=1), CleanupCallback(every=1)])
    run.train()
    assert run.state.global_step == 8
    shown = capsys.readouterr().err
    assert "LoggingCallback stopped, the training goes on: ZeroDivisionError" in shown
    assert "Cleanup stopped, the training goes on" in shown
