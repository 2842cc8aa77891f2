#!/usr/bin/env python3
"""Make a small Llama-architecture model with random weights, for engines that need a model.

    make_model.py OUT [--hidden 64] [--layers 2] [--heads N] [--vocab 2048] [--context 4096] [--seed 1] [--no-gguf]

Leaves OUT/hf/ (what vLLM and transformers load, with tokenizer.json) and OUT/model.gguf (what llama.cpp loads).
Both hold the same weights and the same tokenizer: a byte-level BPE trained here on the help texts that Python
itself carries, so nothing is downloaded. The text such a model writes is noise. A token may be a single byte of a
UTF-8 character, so a server holds text back or sends U+FFFD: chunks are not tokens.

Needs what make_model.requirements.txt lists.
"""
import argparse
import json
import os
import pydoc_data.topics

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]  # token ids 0, 1, 2
CHAT_TEMPLATE = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>' + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def train_tokenizer(vocab):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab,
        special_tokens=SPECIAL,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(list(pydoc_data.topics.topics.values()), trainer)
    return tokenizer


class Shape:
    """The architecture's numbers, all derived from a few arguments."""

    def __init__(self, args, n_tokens):
        self.hidden, self.layers, self.context, self.n_tokens = args.hidden, args.layers, args.context, n_tokens
        self.heads = args.heads or max(2, args.hidden // 32)
        self.kv_heads = max(1, self.heads // 2)
        self.head_dim = args.hidden // self.heads
        self.feed_forward = args.hidden * 3


def make_weights(shape, seed):
    """Every tensor by its name in the Hugging Face layout."""
    random = np.random.default_rng(seed)

    def matrix(rows, columns, gain=1.0):
        return (random.standard_normal((rows, columns)) * gain * columns**-0.5).astype(np.float32)

    ones = np.ones(shape.hidden, np.float32)
    weights = {
        "model.embed_tokens.weight": random.standard_normal((shape.n_tokens, shape.hidden)).astype(np.float32),
        "model.norm.weight": ones,
        "lm_head.weight": matrix(shape.n_tokens, shape.hidden, gain=3.0),
    }
    queries, keys = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    for layer in range(shape.layers):
        prefix = f"model.layers.{layer}."
        weights |= {
            prefix + "input_layernorm.weight": ones,
            prefix + "post_attention_layernorm.weight": ones,
            prefix + "self_attn.q_proj.weight": matrix(queries, shape.hidden),
            prefix + "self_attn.k_proj.weight": matrix(keys, shape.hidden),
            prefix + "self_attn.v_proj.weight": matrix(keys, shape.hidden),
            prefix + "self_attn.o_proj.weight": matrix(shape.hidden, queries),
            prefix + "mlp.gate_proj.weight": matrix(shape.feed_forward, shape.hidden),
            prefix + "mlp.up_proj.weight": matrix(shape.feed_forward, shape.hidden),
            prefix + "mlp.down_proj.weight": matrix(shape.hidden, shape.feed_forward),
        }
    return weights


def write_hugging_face(folder, tokenizer, shape, weights):
    os.makedirs(folder, exist_ok=True)

    def put(name, content):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as out:
            json.dump(content, out, indent=1)

    end, begin, turn_end = SPECIAL
    tokenizer.save(os.path.join(folder, "tokenizer.json"))
    special = {"bos_token": begin, "eos_token": turn_end, "unk_token": end, "pad_token": end}
    put("special_tokens_map.json", special)
    put("tokenizer_config.json", special | {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "add_bos_token": False,
        "model_max_length": shape.context,
        "clean_up_tokenization_spaces": False,
        "chat_template": CHAT_TEMPLATE,
    })
    ids = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    put("generation_config.json", ids)
    put("config.json", ids | {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": shape.hidden,
        "intermediate_size": shape.feed_forward,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.kv_heads,
        "head_dim": shape.head_dim,
        "vocab_size": shape.n_tokens,
        "max_position_embeddings": shape.context,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "hidden_act": "silu",
        "attention_bias": False,
        "mlp_bias": False,
        "tie_word_embeddings": False,
        "torch_dtype": "float32",
        "use_cache": True,
    })
    save_file(weights, os.path.join(folder, "model.safetensors"), metadata={"format": "pt"})


def interleave_rotary(matrix, heads):
    """llama.cpp keeps the two halves of each rotary pair side by side, Hugging Face half a head apart."""
    rows, columns = matrix.shape
    return matrix.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(rows, columns)


def write_gguf(path, tokenizer_json, shape, weights):
    import gguf

    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("random-tiny-llama")
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.hidden)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.feed_forward)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(shape.head_dim)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(shape.n_tokens)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)

    with open(tokenizer_json, encoding="utf-8") as file:
        bpe = json.load(file)["model"]
    tokens = sorted(bpe["vocab"], key=bpe["vocab"].get)
    kinds = [gguf.TokenType.CONTROL if token in SPECIAL else gguf.TokenType.NORMAL for token in tokens]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges([merge if isinstance(merge, str) else " ".join(merge) for merge in bpe["merges"]])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_pad_token_id(0)
    writer.add_add_bos_token(False)
    writer.add_chat_template(CHAT_TEMPLATE)

    writer.add_tensor("token_embd.weight", weights["model.embed_tokens.weight"])
    writer.add_tensor("output_norm.weight", weights["model.norm.weight"])
    writer.add_tensor("output.weight", weights["lm_head.weight"])
    names = {
        "attn_norm": "input_layernorm",
        "ffn_norm": "post_attention_layernorm",
        "attn_q": "self_attn.q_proj",
        "attn_k": "self_attn.k_proj",
        "attn_v": "self_attn.v_proj",
        "attn_output": "self_attn.o_proj",
        "ffn_gate": "mlp.gate_proj",
        "ffn_up": "mlp.up_proj",
        "ffn_down": "mlp.down_proj",
    }
    heads = {"attn_q": shape.heads, "attn_k": shape.kv_heads}
    for layer in range(shape.layers):
        for ours, theirs in names.items():
            tensor = weights[f"model.layers.{layer}.{theirs}.weight"]
            if ours in heads:
                tensor = interleave_rotary(tensor, heads[ours])
            writer.add_tensor(f"blk.{layer}.{ours}.weight", tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--heads", type=int, default=0, help="default: hidden/32, at least 2")
    parser.add_argument("--vocab", type=int, default=2048)
    parser.add_argument("--context", type=int, default=4096)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-gguf", action="store_true")
    args = parser.parse_args()

    tokenizer = train_tokenizer(args.vocab)
    shape = Shape(args, tokenizer.get_vocab_size())
    weights = make_weights(shape, args.seed)
    folder = os.path.join(args.out, "hf")
    write_hugging_face(folder, tokenizer, shape, weights)
    print(folder, sum(w.size for w in weights.values()), "parameters,", shape.n_tokens, "tokens")
    if not args.no_gguf:
        path = os.path.join(args.out, "model.gguf")
        write_gguf(path, os.path.join(folder, "tokenizer.json"), shape, weights)
        print(path, os.path.getsize(path), "bytes")


if __name__ == "__main__":
    main()
