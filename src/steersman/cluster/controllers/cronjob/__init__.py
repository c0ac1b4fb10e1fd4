"""CronJobs: jobs that are started by the clock.

Start reading at `controller`; what it decides is in `schedule` (when a schedule fires), `due` (which start
is due, and when to look again) and `new_jobs` (what is started).
"""
