"""What all learners on the device share: actor, returns, replay buffer, optimizer, devices, checkpoints."""
