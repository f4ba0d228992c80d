"""Language models as agents: the prompt they are given, and how they are reached."""

from agents.language_model.agent import LanguageModelAgent, model_spec
from agents.language_model.prompt import PROMPT_VERSION

__all__ = ["PROMPT_VERSION", "LanguageModelAgent", "model_spec"]
