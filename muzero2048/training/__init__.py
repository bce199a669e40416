"""What all learners on the device share: replay buffer, optimizer, devices, checkpoints."""
