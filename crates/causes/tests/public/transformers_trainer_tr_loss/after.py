import torch
from torch.utils.data import DataLoader, RandomSampler


class Trainer:
    """Enough of a trainer to fine-tune a model that gives its own loss."""

    def __init__(self, model, args, train_dataset, collate=None):
        self.model = model
        self.args = args
        self.train_dataset = train_dataset
        self.collate = collate

    def loader(self):
        sampler = RandomSampler(self.train_dataset)
        return DataLoader(self.train_dataset, batch_size=self.args.batch_size, sampler=sampler, collate_fn=self.collate)

    def compute_loss(self, model, inputs):
        outputs = model(**inputs)
        return outputs[0]

    def training_step(self, model, inputs):
        model.train()
        inputs = {name: value.to(self.args.device) for name, value in inputs.items()}
        loss = self.compute_loss(model, inputs)
        if self.args.gradient_accumulation_steps > 1:
            loss = loss / self.args.gradient_accumulation_steps
        loss.backward()
        return loss.detach()

    def train(self):
        model = self.model.to(self.args.device)
        optimizer = torch.optim.AdamW(model.parameters(), lr=self.args.learning_rate)
        tr_loss = torch.tensor(0.0).to(self.args.device)
        logged, global_step = 0.0, 0
        for _ in range(self.args.num_train_epochs):
            for step, inputs in enumerate(self.loader()):
                tr_loss += self.training_step(model, inputs)
                if (step + 1) % self.args.gradient_accumulation_steps == 0:
                    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                    optimizer.step()
                    model.zero_grad()
                    global_step += 1
                    if global_step % self.args.logging_steps == 0:
                        scalar = tr_loss.item()
                        print({"loss": (scalar - logged) / self.args.logging_steps, "step": global_step})
                        logged = scalar
        return global_step, tr_loss.item() / max(1, global_step)
