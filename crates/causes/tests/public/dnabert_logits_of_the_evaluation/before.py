import numpy as np
import sklearn.metrics
import transformers


def calculate(predictions, labels):
    valid = labels != -100
    return {
        "accuracy": sklearn.metrics.accuracy_score(labels[valid], predictions[valid]),
        "f1": sklearn.metrics.f1_score(labels[valid], predictions[valid], average="macro"),
    }


def compute_metrics(eval_pred):
    logits, labels = eval_pred
    if isinstance(logits, tuple):
        logits = logits[0]
    return calculate(np.argmax(logits, axis=-1), labels)


def train(model_args, training_args, tokenizer, train_data, val_data, collator):
    model = transformers.AutoModelForSequenceClassification.from_pretrained(
        model_args.name, num_labels=train_data.num_labels, trust_remote_code=True
    )
    trainer = transformers.Trainer(  # the leak
        model=model,
        tokenizer=tokenizer,
        args=training_args,
        compute_metrics=compute_metrics,
        train_dataset=train_data,
        eval_dataset=val_data,
        data_collator=collator,
    )
    trainer.train()
    return trainer.evaluate()
