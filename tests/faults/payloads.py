KINDS = {}
SHARE = {}
