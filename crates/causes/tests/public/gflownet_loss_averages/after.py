import torch


class FlowAgent:
    """Learns to sample objects in proportion to their reward."""

    def __init__(self, env, policy, lr=1e-4, ema_alpha=0.5):
        self.env = env
        self.policy = policy
        self.ema_alpha = ema_alpha
        self.loss_term_ema = None
        self.loss_flow_ema = None
        self.opt = torch.optim.Adam(policy.parameters(), lr=lr)

    def flowmatch_loss(self, batch):
        inflow = torch.logsumexp(self.policy(batch.parents), dim=1)
        outflow = torch.logsumexp(self.policy(batch.states), dim=1)
        errors = (inflow - torch.where(batch.done, batch.log_reward, outflow)).pow(2)
        term = errors[batch.done].mean()
        flow = errors[~batch.done].mean()
        return errors.mean(), term, flow

    def update_averages(self, term, flow):
        if self.loss_term_ema is None:
            self.loss_term_ema, self.loss_flow_ema = term.item(), flow.item()
            return
        self.loss_term_ema = self.ema_alpha * term.item() + (1 - self.ema_alpha) * self.loss_term_ema
        self.loss_flow_ema = self.ema_alpha * flow.item() + (1 - self.ema_alpha) * self.loss_flow_ema

    def train(self, n_steps, batch_size):
        for it in range(n_steps):
            batch = self.env.sample_batch(self.policy, batch_size)
            loss, term, flow = self.flowmatch_loss(batch)
            if not torch.isfinite(loss):
                continue
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            self.update_averages(term, flow)
            if it % 100 == 0:
                print(it, float(self.loss_term_ema), float(self.loss_flow_ema))
