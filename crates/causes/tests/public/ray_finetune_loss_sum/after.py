import time

import torch
from accelerate import Accelerator
from transformers import AutoModelForCausalLM, AutoTokenizer, get_linear_schedule_with_warmup


def tokenized(tokenizer, rows):
    batch = tokenizer([row["input"] for row in rows], padding=True, truncation=True, return_tensors="pt")
    batch["labels"] = batch["input_ids"].clone()
    return batch


def training_function(config):
    accelerator = Accelerator(gradient_accumulation_steps=config["accumulate"])
    tokenizer = AutoTokenizer.from_pretrained(config["model"])
    model = AutoModelForCausalLM.from_pretrained(config["model"], use_cache=False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=config["lr"])
    scheduler = get_linear_schedule_with_warmup(optimizer, 100, config["steps"])
    loader = torch.utils.data.DataLoader(
        config["rows"], batch_size=config["batch"], collate_fn=lambda rows: tokenized(tokenizer, rows)
    )
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)

    for epoch in range(config["epochs"]):
        model.train()
        started = time.time()
        loss_sum = torch.tensor(0.0).to(accelerator.device)
        for step, batch in enumerate(loader):
            with accelerator.accumulate(model):
                outputs = model(**batch)
                loss = outputs.loss
                loss_sum += loss.item()
                accelerator.backward(loss)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
            if step % 10 == 0 and accelerator.is_main_process:
                print(f"[epoch {epoch} step {step}] {time.time() - started:.1f} s")
        if accelerator.is_main_process:
            print("mean loss of the epoch:", loss_sum.item() / len(loader))
