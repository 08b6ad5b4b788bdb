"""The callbacks in a real fit of Lightning, on a tiny model made here."""

import re

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
L = pytest.importorskip(
    "lightning.pytorch", reason="lightning is not installed: pip install -r scripts/requirements-frameworks.txt"
)

from frameworks import Marks  # noqa: E402
from lowtide.lightning import CleanupCallback, LoggingCallback, LowtideCallback  # noqa: E402


class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def training_step(self, batch, _):
        return self.layer(batch[0]).square().mean()

    def validation_step(self, batch, _):
        self.log("loss", self.layer(batch[0]).mean())

    test_step = validation_step

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


class Logger(L.loggers.logger.DummyLogger):
    """Keeps what it is given."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def log_metrics(self, metrics, step=None):
        self.seen.append((step, dict(metrics)))


def loader(length):
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(length, 4)), batch_size=2)


def trainer(folder, callbacks, **settings):
    settings = {"max_epochs": 2, "enable_checkpointing": False, "logger": False} | settings
    return L.Trainer(
        default_root_dir=folder,
        accelerator="cpu",
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=callbacks,
        **settings,
    )


def fit(*args, **settings):
    run, model = trainer(*args, **settings), Model()
    run.fit(model, loader(8), loader(4))
    return run, model


def test_marks(tmp_path, monkeypatch):
    marks = Marks(monkeypatch)
    run, model = fit(tmp_path, [LowtideCallback()])
    epoch = ["step"] * 4 + ["phase validation", "phase train"]
    sanity = ["phase setup", "phase train"]
    assert marks.lines == ["phase train", *sanity, "epoch 0", *epoch, "epoch 1", *epoch, "phase ends", "epoch ends"]
    marks.lines.clear()
    run.test(model, loader(4))
    assert marks.lines == ["phase test", "phase ends"]


def test_steps_are_optimizer_steps(tmp_path, monkeypatch):
    marks = Marks(monkeypatch)
    fit(tmp_path, [LowtideCallback()], accumulate_grad_batches=2)
    assert marks.lines.count("step") == 4


def test_memory_in_the_loggers(tmp_path, capsys):
    logger = Logger()
    kept = []

    class Leak(L.Callback):
        def on_train_batch_end(self, *args):
            kept.append([torch.zeros(3, 1 << 18)])

    fit(tmp_path, [LoggingCallback(every=2), Leak()], logger=logger)
    ours = [one for _, one in logger.seen if "lowtide/rss_mib" in one]
    assert len(ours) == 4 + 2 + 1
    assert all(one["lowtide/rss_mib"] > 50 and one["lowtide/gc_objects"] > 1000 for one in ours)
    assert ours[-1]["lowtide/largest_tensor_mib"] == 3
    shown = capsys.readouterr().err
    assert "at the end of training" in shown
    assert "[3, 262144]" in shown


def test_cleanup_never_touches_gradients_that_accumulate(tmp_path, capsys):
    class Watch(L.Callback):
        """After the batches amid an accumulation there are gradients; after the others they were set to None."""

        there = []

        def on_train_batch_end(self, trainer, model, outputs, batch, batch_idx):
            self.there.append(model.layer.weight.grad is not None)

    fit(tmp_path, [CleanupCallback(every=1), Watch()], accumulate_grad_batches=2)
    # Four numbers are not worth the while: after three tries the gradients are left alone.
    assert Watch.there == [True, False] * 3 + [True, True]
    # Due after four steps and two evaluations. Whether something pays after the tries of all is the machine's business.
    shown = capsys.readouterr().err
    assert re.search(r"clean-up: [456] times in 4 steps", shown), shown


def test_a_failing_callback_does_not_end_the_training(tmp_path, capsys, monkeypatch):
    from lowtide import _memory

    monkeypatch.setattr(_memory, "read", lambda: 1 / 0)
    run, _ = fit(tmp_path, [LoggingCallback(every=1), CleanupCallback(every=1)])
    assert run.global_step == 8
    assert "stopped, the training goes on: ZeroDivisionError" in capsys.readouterr().err
