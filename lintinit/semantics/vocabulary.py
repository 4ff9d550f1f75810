"""What names suggest, where the code that they name is out of sight.

Evidence from code always comes first; these tables decide only what nothing else does.
"""

from __future__ import annotations

import re

#: First words of functions that give state its values.
_WRITES = re.compile(
    r"^_*(?:re)?(?:init|initiali[sz]e|reset|fill|zero|clear|load|restore|populate|build|compute|copy|assign|randomi[sz]e"
    r"|make_dummy|post_init|setup_tables|materiali[sz]e)(?:_|\d|$|[A-Z]|weights|params)"
)
#: Functions that get state only to describe, count, show or remember it.
_DESCRIBES = re.compile(
    r"^_*(?:set_\w*(?:attr|meta|info|hook|flag)\w*|add_\w*(?:attr|hook)\w*|attach\w*|regist\w*|mark\w*|tag\w*|annotat\w*|check\w*|assert\w*"
    r"|valid\w*|verif\w*|ensure\w*|log\w*|warn\w*|info\w*|debug\w*|error|exception|print\w*|track\w*|append|add|extend|insert"
    r"|setdefault|update|discard|remove|hasattr|getattr|isinstance|id|len|type|repr|str|weak\w*|hash|is_\w*|has_\w*|get_\w*"
    r"|broadcast|all_reduce|barrier|freeze\w*|requires_grad\w*|shard\w*|maybe_log\w*|callable|super|save_\w*|record\w*|dump\w*|note\w*)$",
    re.IGNORECASE,
)


def writes_by_name(name: str) -> bool:
    """Whether a function called *name* presumably writes the state that it is given."""
    return _WRITES.match(name) is not None


def describes_by_name(name: str) -> bool:
    """Whether a function called *name* presumably leaves the tensors that it is given alone."""
    return _DESCRIBES.match(name) is not None


#: Names of quantised payloads: packed weights, zero points, scale bits.
PAYLOAD = re.compile(
    r"(?:^|_)(?:\w*weights?(?:_?(?:packed|bits|data|q|fp[48]|int[48]|mxfp[48]|nvfp4))?|qweight|packed\w*|\w*_packed|\w*packed_\w*|qzeros?|zeros?_?points?|zps?|\w*zero_point\w*"
    r"|q?scales?(?:_\w+)?|\w*_scales?|\w*scale_inv|scale_?bits|weight_sf\w*|sf[ab]?|\w*_sf|qbias|quant\w*|\w*_quant\w*|qs|absmax|quant_state"
    r"|(?:gate|up|down|gate_up|q|k|v|o|qkv|w[123]|w13|w2|in|out|fc\d?)_proj|input_offset|offset|blocks?|nibbles?|codes?_packed|bits)(?:$|_)",
    re.IGNORECASE,
)
#: Names that say packing or quantisation whatever the width of the storage.
PACKED = re.compile(
    r"(?:^|_)(?:qweights?|qzeros?|packed|zero_points?|zp|zeros_and_scales|quant\w*|qs|sf|weight_sf|scale_inv|scales?|weight_packed|weight_scale\w*)(?:$|_)|packed|zero_point|_sf(?:$|_)|scale",
    re.IGNORECASE,
)
#: Classes and schemes whose integers are quantised values.
QUANTISED = re.compile(
    r"quant|awq|gptq|gguf|ggml|[wa]\d{1,2}a\d{1,2}|w[n\d]\w*a16|(?:nv|mx)?fp[48]|nf4|int[248]|bnb|bitsandbytes|hqq|eetq|higgs|marlin|packed|bitlinear|bitnet"
    r"|sint|uint|qlinear|qembedding|lowbit|low_bit|ternary|q[48]",
    re.IGNORECASE,
)
#: Names of tables whose values are addresses.
POINTERS = re.compile(r"(?:^|_)(?:\w*ptrs?|pointers?|addr(?:ess(?:es)?)?)$", re.IGNORECASE)
#: Names of tables whose values are sizes.
SHAPES = re.compile(r"(?:^|_)(?:shapes?|sizes?|lens?|lengths?|numel)$", re.IGNORECASE)
#: Names of tables whose values are positions or identities, however they are stored.
INDICES = re.compile(
    r"(?:^|_)(?:\w*idxs?|ind(?:ex|exes|ices)|perms?|permutations?|order(?:ing)?|ids?|maps?|mapping|tables?|types?|kinds?|offsets|starts?|slots?)$",
    re.IGNORECASE,
)
