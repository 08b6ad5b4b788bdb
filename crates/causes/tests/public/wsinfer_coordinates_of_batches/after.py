import pandas as pd
import torch
from torch.utils.data import DataLoader


@torch.no_grad()
def predict_slide(model, dset, batch_size, num_workers, device):
    """Class probabilities of all patches of one slide."""
    loader = DataLoader(dset, batch_size=batch_size, shuffle=False, num_workers=num_workers)
    slide_coords, slide_probs = [], []
    for batch_imgs, batch_coords in loader:
        logits = model(batch_imgs.to(device, non_blocking=True))
        probs = torch.softmax(logits, dim=1)
        slide_coords.append(batch_coords.clone())
        slide_probs.append(probs.cpu())
    coords = torch.cat(slide_coords).numpy()
    probs = torch.cat(slide_probs).numpy()
    frame = pd.DataFrame({"minx": coords[:, 0], "miny": coords[:, 1]})
    frame["width"] = coords[:, 2] - coords[:, 0]
    frame["height"] = coords[:, 3] - coords[:, 1]
    for number in range(probs.shape[1]):
        frame[f"prob_{number}"] = probs[:, number]
    return frame


def run_inference(model, slides, open_patches, out_dir, batch_size=32, num_workers=8, speedup=False):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = model.to(device).eval()
    if speedup:
        model = torch.compile(model)
    failed = 0
    for slide in slides:
        try:
            patches = open_patches(slide)
        except FileNotFoundError:
            failed += 1
            continue
        frame = predict_slide(model, patches, batch_size, num_workers, device)
        frame.to_csv(f"{out_dir}/{slide}.csv", index=False)
    return failed
