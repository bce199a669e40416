"""Files of networks: safetensors, stored networks, and .w files of TDL2048+."""
