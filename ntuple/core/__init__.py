"""What all packages share: settings, interfaces of players, atomic files. It needs numpy at most."""
