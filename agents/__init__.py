"""Who bargains: the agent interface, scripted strategies, language models, plug-ins."""
