import sklearn.metrics
import torch
import transformers


def calculate(predictions, labels):
    valid = labels != -100
    return {
        "accuracy": sklearn.metrics.accuracy_score(labels[valid], predictions[valid]),
        "f1": sklearn.metrics.f1_score(labels[valid], predictions[valid], average="macro"),
    }


def preprocess_logits(logits, _):
    if isinstance(logits, tuple):
        logits = logits[0]
    return torch.argmax(logits, dim=-1)


def compute_metrics(eval_pred):
    predictions, labels = eval_pred
    return calculate(predictions, labels)


def train(model_args, training_args, tokenizer, train_data, val_data, collator):
    model = transformers.AutoModelForSequenceClassification.from_pretrained(
        model_args.name, num_labels=train_data.num_labels, trust_remote_code=True
    )
    trainer = transformers.Trainer(
        model=model,
        tokenizer=tokenizer,
        args=training_args,
        preprocess_logits_for_metrics=preprocess_logits,
        compute_metrics=compute_metrics,
        train_dataset=train_data,
        eval_dataset=val_data,
        data_collator=collator,
    )
    trainer.train()
    return trainer.evaluate()
