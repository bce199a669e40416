#!/usr/bin/env bash
# Stops the cluster that tests/cluster/up.sh started in FOLDER, and removes its names from the hosts file.
folder=$(realpath -m "${1:?give the folder of the cluster}")
export SLURM_CONF=$folder/slurm.conf
timeout 5 scancel --user="$(id -un)"
timeout 5 scontrol shutdown
sleep 1
for file in "$folder"/slurm*.pid /run/munge/munged.pid; do
    [ -f "$file" ] && kill "$(cat "$file")" 2> /dev/null
done
sed '/^127\.0\.0\.1 n[12]$/d' /etc/hosts > "$folder/hosts" && cat "$folder/hosts" > /etc/hosts
