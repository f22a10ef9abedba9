"""Three agents that learn in a small world, and what their networks say of given observations."""

import gymnasium
import numpy as np
import torch
from beginnings import filled, normal, report
from stable_baselines3 import A2C, DQN, PPO


class World(gymnasium.Env):
    """Ten steps, each rewarded with the action."""

    observation_space = gymnasium.spaces.Box(-1, 1, (3,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, seed=None, options=None):
        self.time = 0
        return np.zeros(3, np.float32), {}

    def step(self, action):
        self.time += 1
        seen = np.full(3, self.time / 10, np.float32)
        return seen, float(action), self.time >= 10, False, {}


found, seen = {}, normal(2, 3)
for kind in (PPO, A2C):
    sizes = {"batch_size": 8} if kind is PPO else {}
    agent = kind("MlpPolicy", World(), seed=0, n_steps=16, device="cpu", **sizes).learn(32)
    filled(agent.policy)
    found[kind.__name__] = agent.policy.evaluate_actions(seen, torch.tensor([0, 1]))
agent = DQN("MlpPolicy", World(), learning_starts=8, buffer_size=64, batch_size=8, device="cpu")
filled(agent.learn(32).policy)
report(**found, DQN=agent.q_net(seen), steps=agent.num_timesteps)
