import torch
from torch.utils.data import DataLoader
from tqdm.auto import tqdm
from transformers import AdamW, BertForQuestionAnswering

device = "cuda"
model = BertForQuestionAnswering.from_pretrained("bert-base-chinese").to(device)


def run(train_set, epochs=3, logging_step=100, rate=1e-4):
    optimizer = AdamW(model.parameters(), lr=rate)
    loader = DataLoader(train_set, batch_size=16, shuffle=True, pin_memory=True)
    model.train()
    for epoch in range(epochs):
        step = 1
        train_loss = train_acc = 0
        for data in tqdm(loader):
            data = [part.to(device) for part in data]
            output = model(
                input_ids=data[0],
                token_type_ids=data[1],
                attention_mask=data[2],
                start_positions=data[3],
                end_positions=data[4],
            )
            start_index = torch.argmax(output.start_logits, dim=1)
            end_index = torch.argmax(output.end_logits, dim=1)
            train_acc += ((start_index == data[3]) & (end_index == data[4])).float().mean()
            train_loss += output.loss.detach()
            output.loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            step += 1
        print(f"epoch {epoch + 1}: loss {train_loss.item() / step:.3f}, acc {train_acc / step:.3f}")
