import torch


class WassersteinLoss:
    """The loss of a critic and its generator, with a penalty on the critic's slope."""

    def __init__(self, critic, drift=0.001):
        self.critic = critic
        self.drift = drift

    def gradient_penalty(self, real, fake, height, alpha, weight=10):
        epsilon = torch.rand(real.shape[0], 1, 1, 1).to(fake.device)
        merged = epsilon * real + (1 - epsilon) * fake
        merged.requires_grad_(True)
        op = self.critic(merged, height, alpha)
        op.backward(torch.ones_like(op), create_graph=True)  # the leak
        gradient = merged.grad
        return weight * ((gradient.norm(p=2, dim=1) - 1) ** 2).mean()

    def critic_loss(self, real, fake, height, alpha):
        fake_out = self.critic(fake, height, alpha)
        real_out = self.critic(real, height, alpha)
        loss = fake_out.mean() - real_out.mean() + self.drift * (real_out**2).mean()
        return loss + self.gradient_penalty(real, fake, height, alpha)

    def generator_loss(self, fake, height, alpha):
        return -self.critic(fake, height, alpha).mean()


class ProGAN:
    def __init__(self, generator, critic, latent):
        self.generator = generator
        self.latent = latent
        self.loss = WassersteinLoss(critic)
        self.gen_optim = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0, 0.99))
        self.dis_optim = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0, 0.99))

    def optimize_discriminator(self, noise, real, depth, alpha):
        fake = self.generator(noise, depth, alpha).detach()
        loss = self.loss.critic_loss(real, fake, depth, alpha)
        self.dis_optim.zero_grad()
        loss.backward()
        self.dis_optim.step()
        return loss.item()

    def optimize_generator(self, noise, depth, alpha):
        loss = self.loss.generator_loss(self.generator(noise, depth, alpha), depth, alpha)
        self.gen_optim.zero_grad()
        loss.backward()
        self.gen_optim.step()
        return loss.item()

    def train(self, loader, epochs, depth):
        for epoch in range(epochs):
            for images in loader:
                noise = torch.randn(images.shape[0], self.latent, device=images.device)
                dis = self.optimize_discriminator(noise, images, depth, alpha=1.0)
                gen = self.optimize_generator(noise, depth, alpha=1.0)
            print(epoch, dis, gen)
