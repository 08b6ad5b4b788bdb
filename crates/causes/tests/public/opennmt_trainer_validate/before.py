import torch


class Statistics:
    def __init__(self, loss=0.0, words=0):
        self.loss = loss
        self.words = words

    def update(self, other):
        self.loss += other.loss
        self.words += other.words

    def ppl(self):
        return 2.718281828 ** min(self.loss / max(self.words, 1), 100)


class TranslationTrainer:
    def __init__(self, model, train_loss, valid_loss, optim, norm_method="sents"):
        self.model = model
        self.train_loss = train_loss
        self.valid_loss = valid_loss
        self.optim = optim
        self.norm_method = norm_method
        self.model.train()

    def train(self, train_iter, valid_iter_fct, train_steps, valid_steps):
        total = Statistics()
        for step, batch in enumerate(train_iter, 1):
            outputs, attns = self.model(batch.src, batch.tgt, batch.src_lengths)
            loss, stats = self.train_loss(batch, outputs, attns)
            self.optim.zero_grad()
            loss.backward()
            self.optim.step()
            total.update(stats)
            if step % valid_steps == 0:
                valid_stats = self.validate(valid_iter_fct())
                print(f"step {step}: train {total.ppl():.2f}, valid {valid_stats.ppl():.2f}")
                total = Statistics()
            if step == train_steps:
                break

    def validate(self, valid_iter):
        self.model.eval()
        stats = Statistics()
        for batch in valid_iter:
            outputs, attns = self.model(batch.src, batch.tgt, batch.src_lengths)  # the leak
            _, batch_stats = self.valid_loss(batch, outputs, attns)
            stats.update(batch_stats)
        self.model.train()
        return stats


def build(model, loss, lr):
    optim = torch.optim.Adam(model.parameters(), lr=lr)
    return TranslationTrainer(model, loss, loss, optim)
