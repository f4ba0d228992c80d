"""How a seller is made: recipes, rollouts, GRPO and checkpoint registration (extra: `train`)."""
