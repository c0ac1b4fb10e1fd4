"""The CronJob controller: creates Jobs on a cron schedule.

Start reading at `controller`; its decisions are in `schedule` (the times of a cron schedule), `due` (the
missed start to run now, and the time of the next check) and `new_jobs` (the Job to create).
"""
