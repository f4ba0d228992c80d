"""Language models whose weights lie here: token-exact conversations, and the engines that run them."""
