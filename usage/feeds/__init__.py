"""Files that come by themselves: looked for below one root, taken when complete, each once."""
