# Another framework: its losses have no graph that keeps anything.


class OfMlx:
    def __init__(self, plan):
        self.plan = plan

    def train(self, loader, epochs):
        import mlx.core as mx

        for _ in range(epochs):
            total = 0.0
            for batch in loader:
                loss = self.plan.step(batch)
                loss.backward()
                if mx.isnan(loss).any():
                    continue
                total += loss
            print(float(total))
