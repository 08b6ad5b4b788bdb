"""What HF Trainer and Lightning say of themselves, against the real ones where they are installed."""

import json

import pytest

pytest.importorskip("torch")

from programs import begins, run

TRAINER = """
import json, os
os.environ["HF_HUB_OFFLINE"] = "1"
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments
class Rows(torch.utils.data.Dataset):
    def __init__(self, n): self.n = n
    def __len__(self): return self.n
    def __getitem__(self, i): return {"input_ids": torch.arange(8), "labels": torch.tensor(i % 2)}
said = []
class Says(TrainerCallback):
    def on_epoch_begin(self, args, state, control, **k): said.append(("epoch", state.global_step))
    def on_evaluate(self, args, state, control, **k): said.append(("validation", state.global_step))
    def on_save(self, args, state, control, **k): said.append(("checkpoint", state.global_step))
config = BertConfig(vocab_size=100, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8)
arguments = TrainingArguments(
    output_dir="out", num_train_epochs=3, per_device_train_batch_size=4, gradient_accumulation_steps=2, use_cpu=True,
    eval_strategy="steps", eval_steps=4, save_strategy="steps", save_steps=8, report_to=[], disable_tqdm=True,
    logging_strategy="no",
)
model = BertForSequenceClassification(config)
Trainer(model, arguments, train_dataset=Rows(80), eval_dataset=Rows(8), callbacks=[Says()]).train()
json.dump(said, open("said.json", "w"))
"""

LIGHTNING = """
import json, {package} as pl
said = []
class Model(pl.LightningModule):
    def __init__(self): super().__init__(); self.inner = torch.nn.Linear(8, 2)
    def training_step(self, batch, i): return loss_of(self.inner(batch[0]), batch[1])
    def validation_step(self, batch, i): self.inner(batch[0])
    def test_step(self, batch, i): self.inner(batch[0])
    def configure_optimizers(self): return torch.optim.Adam(self.parameters())
    def on_train_epoch_start(self): said.append(("epoch", self.global_step))
    def on_save_checkpoint(self, checkpoint): said.append(("checkpoint", self.global_step))
    def on_test_start(self): said.append(("test", self.global_step))
    def on_validation_start(self):
        said.append(("setup" if self.trainer.sanity_checking else "validation", self.global_step))
trainer = pl.Trainer(max_epochs=3, accelerator="cpu", logger=False, enable_progress_bar=False, val_check_interval=0.5)
model = Model()
trainer.fit(model, train, val)
trainer.test(model, val, verbose=False)
json.dump(said, open("said.json", "w"))
"""


def agrees(folder, program):
    """The marks are what the framework's own events say, and `train` is on between them."""
    ring = run(folder, program)[0]
    said = [tuple(event) for event in json.loads((folder / "said.json").read_text())]
    assert begins(ring, "epoch") == list(enumerate(steps for name, steps in said if name == "epoch"))
    phases = begins(ring, "phase")
    for name in {name for name, _ in said} - {"epoch", "validation"}:
        assert [mark for mark in phases if mark[0] == name] == [event for event in said if event[0] == name]
    # A checkpoint inside a validation interrupts it.
    validations = dict.fromkeys(mark for mark in phases if mark[0] == "validation")
    assert list(validations) == [event for event in said if event[0] == "validation"]
    assert ("train", 0) in phases
    return ring


def test_trainer(tmp_path):
    pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    assert agrees(tmp_path, TRAINER)["steps"] == 30


@pytest.mark.parametrize("package", ["lightning.pytorch", "pytorch_lightning"])
def test_lightning(tmp_path, package):
    pytest.importorskip(package.split(".")[0])
    assert agrees(tmp_path, LIGHTNING.replace("{package}", package))["steps"] == 30
