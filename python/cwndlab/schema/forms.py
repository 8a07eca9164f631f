"""Patterns that strings in study files must match, and advice for strings that do not match."""

ID = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
"""Pattern for the name of a study, which is also the name of the study's folder."""

PERIOD = r"^([01][0-9]|2[0-3]):[0-5][0-9]-([01][0-9]|2[0-3]):[0-5][0-9]$"
"""Pattern for a period of the day, such as "06:00-07:30"."""

REMEDIES = {
    ID: 'write letters, digits, ".", "_" and "-", and begin with a letter or a digit',
    PERIOD: 'not a period of the day; write for example "06:00-07:30"',
}
