"""How verdicts reach people and machines: `formats` lists the formats, one module makes each.

Foreign text passes `kit.checker.printable` here, and then the escaping of its format.
"""
