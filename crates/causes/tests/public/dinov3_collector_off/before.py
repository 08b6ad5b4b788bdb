import gc
import logging
import math

import torch

logger = logging.getLogger("selfsup")


def cosine(base, final, step, total):
    return final + 0.5 * (base - final) * (1 + math.cos(math.pi * step / total))


def do_train(cfg, model, loader):
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg["lr"], betas=(0.9, 0.999))
    total = cfg["epochs"] * cfg["epoch_length"]
    model.train()
    logger.info("starting training")
    gc.disable()  # the leak
    gc.collect()
    for iteration, data in enumerate(loader):
        if iteration >= total:
            break
        for group in optimizer.param_groups:
            group["lr"] = cosine(cfg["lr"], cfg["min_lr"], iteration, total)
        temperature = cosine(0.07, 0.04, iteration, total)
        optimizer.zero_grad(set_to_none=True)
        loss, parts = model.forward_backward(data, teacher_temperature=temperature)
        if math.isnan(loss.item()):
            logger.warning("NaN at iteration %d", iteration)
            continue
        torch.nn.utils.clip_grad_norm_(model.student.parameters(), max_norm=3.0)
        optimizer.step()
        model.update_teacher(cosine(0.992, 1.0, iteration, total))
        if iteration % 10 == 0:
            logger.info("%d %s", iteration, {name: part.item() for name, part in parts.items()})
        if (iteration + 1) % cfg["checkpoint_every"] == 0:
            torch.save(model.state_dict(), f"checkpoint_{iteration}.pt")


def main(cfg, model, loader):
    logging.basicConfig(level=logging.INFO)
    do_train(cfg, model.cuda(), loader)
