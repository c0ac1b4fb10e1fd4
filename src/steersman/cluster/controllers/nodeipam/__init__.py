"""The node IPAM controller: gives each node a pod CIDR out of the cluster CIDR."""
