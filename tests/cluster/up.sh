#!/usr/bin/env bash
# Starts a SLURM cluster on this machine alone, which poses as two nodes, n1 and n2, with two fake GPUs each. Partition
# high preempts partition low. Needs root, and Debian's packages slurm-wlm and munge. No systemd, no database.
#
#   tests/cluster/up.sh FOLDER      then: export SLURM_CONF=FOLDER/slurm.conf
#   tests/cluster/down.sh FOLDER    stops it
set -euo pipefail
folder=$(realpath -m "${1:?give a folder for the cluster}")
host=$(hostname)
mkdir -p "$folder"/{state,spool.n1,spool.n2,log}

# munge, which checks who sends a message, accepts only folders of its own user.
munge_works() { munge -n < /dev/null 2> /dev/null | unmunge > /dev/null 2>&1; }
install -d -o munge -g munge -m 0755 /run/munge
install -d -o munge -g munge -m 0700 /etc/munge /var/lib/munge /var/log/munge
key=/etc/munge/munge.key
[ -s $key ] || dd if=/dev/urandom of=$key bs=1024 count=1 status=none
chown munge:munge $key
chmod 400 $key
munge_works || su -s /bin/sh munge -c "/usr/sbin/munged --force"
for _ in $(seq 20); do munge_works && break; sleep 0.1; done

for node in n1 n2; do
    getent hosts $node > /dev/null || echo "127.0.0.1 $node" >> /etc/hosts  # processes find each other by these names
done
for gpu in 0 1; do
    [ -c "$folder/gpu$gpu" ] || mknod "$folder/gpu$gpu" c 1 3  # SLURM accepts character devices alone
done

cat > "$folder/gres.conf" <<CONF
NodeName=n[1-2] Name=gpu File=$folder/gpu[0-1]
CONF
cat > "$folder/slurm.conf" <<CONF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=17002
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool.%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.%n.pid
SlurmctldLogFile=$folder/log/slurmctld.log
SlurmdLogFile=$folder/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SwitchType=switch/none
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=2,bf_interval=2,batch_sched_delay=0,requeue_delay=0
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SlurmctldParameters=preempt_send_user_signal
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
ReturnToService=2
GresTypes=gpu
KillWait=30
MinJobAge=300
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=17011 CPUs=8 RealMemory=16000 Gres=gpu:2
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=17012 CPUs=8 RealMemory=16000 Gres=gpu:2
PartitionName=low Nodes=n1,n2 Default=YES MaxTime=INFINITE PriorityTier=1 PreemptMode=REQUEUE GraceTime=30
PartitionName=high Nodes=n1,n2 MaxTime=INFINITE PriorityTier=10 PreemptMode=OFF
CONF

export SLURM_CONF=$folder/slurm.conf
slurmctld -f "$SLURM_CONF"
for node in n1 n2; do slurmd -N $node -f "$SLURM_CONF"; done
for _ in $(seq 100); do
    [ "$(timeout 2 sinfo -h -o %T 2> /dev/null | sort -u)" = idle ] && exit 0
    sleep 0.2
done
echo "error: the nodes are not idle after 20 s; see $folder/log" >&2
exit 1
