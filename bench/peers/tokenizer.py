"""A small tokenizer that every tool can load from disk: one token a word, so that all agree on lengths, offline."""

import json
from pathlib import Path

# What the reference server answers with (bench/reference/src/answer.rs).
ANSWER = "time year work part hand life case week fact room line city name team idea body".split()


def words() -> list[str]:
    """The answers' words and two thousand more for prompts."""
    syllables = ["ba", "ce", "di", "fo", "gu", "ha", "ke", "li", "mo", "nu", "pa", "re", "si"]
    return ANSWER + [a + b + c for a in syllables for b in syllables for c in syllables]


def write(folder: Path) -> Path:
    """Writes tokenizer.json and what Hugging Face's loader wants beside it; returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    specials = ["[UNK]", "<s>", "</s>"]
    vocabulary = {word: number for number, word in enumerate(specials + words())}
    added = [
        {"id": number, "content": word, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
         # Not special: a tool that cuts its prompts to length out of text we do not know would drop every word of them.
         "special": word != "[UNK]"}
        for number, word in enumerate(specials)
    ]
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"}, "post_processor": None, "decoder": None,
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"},
    }
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>",
        "pad_token": "</s>", "model_max_length": 131072, "clean_up_tokenization_spaces": False,
        "chat_template": "{% for message in messages %}{{ message['content'] }} {% endfor %}",
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    (folder / "config.json").write_text(json.dumps({"model_type": "llama", "vocab_size": len(vocabulary)}))
    return folder
