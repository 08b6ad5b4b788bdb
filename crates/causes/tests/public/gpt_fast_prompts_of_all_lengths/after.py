import torch
from torch.nn import functional as F

from model import Transformer


def load(checkpoint, device):
    with torch.device("meta"):
        model = Transformer.from_name(checkpoint["name"])
    model.load_state_dict(checkpoint["model"], assign=True)
    model = model.to(device=device, dtype=torch.bfloat16).eval()
    with torch.device(device):
        model.setup_caches(max_batch_size=1, max_seq_length=model.config.block_size)
    return torch.compile(model, mode="reduce-overhead", fullgraph=True, dynamic=True)


def next_token_logits(model, ids, device, block=2048):
    prompt = torch.zeros(block, dtype=torch.long, device=device)
    prompt[: len(ids)] = torch.tensor(ids, device=device)
    positions = torch.arange(block, device=device)
    return model(prompt.view(1, -1), positions)[0, len(ids) - 1]


def answer(model, tokenizer, question, letters, device):
    ids = tokenizer.encode(question["text"])
    with torch.inference_mode():
        logits = next_token_logits(model, ids, device)
        choices = torch.tensor([tokenizer.encode(letter)[0] for letter in letters], device=device)
        return letters[F.softmax(logits[choices].float(), dim=0).argmax().item()]


def main(checkpoint_path, tokenizer, questions):
    device = "cuda"
    model = load(torch.load(checkpoint_path, mmap=True), device)
    right = 0
    for question in questions:
        right += answer(model, tokenizer, question, ["A", "B", "C", "D"], device) == question["answer"]
    print(f"{right / len(questions):.1%}")
