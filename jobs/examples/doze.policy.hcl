# What Doze may do in Nomad: see jobs and scale them, nothing else.
#
#   nomad acl policy apply -namespace default -job doze doze doze.policy.hcl

namespace "*" {
  capabilities = [
    "list-jobs",
    "read-job",
    "read-job-scaling",
    "scale-job",
    # Lets Doze wake one group of a job while a deployment of another is active, by
    # registering the job again with the new count. Without it such a wake waits until the
    # deployment is over. It is a far-reaching right: whoever has it can run anything.
    # "submit-job",
  ]
}
