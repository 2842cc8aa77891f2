//! The words prompts are made of.
//!
//! Common English words, chosen one by one so that each is a single token behind a space in the vocabularies in wide
//! use (checked: `cl100k`, `o200k`, Llama 3, Mistral's Tekken, `DeepSeek`, `SmolLM2`). The first of the nouns and of
//! the adjectives are a single token at the very start of a text too, so that a prompt may open with them.
//! The lists are part of what a seed means: changing one changes every prompt.

/// How many of [`NOUNS`], from the first, may open a prompt.
pub(crate) const N_OPENING_NOUNS: usize = 192;

/// How many of [`ADJECTIVES`], from the first, may open a prompt.
pub(crate) const N_OPENING_ADJECTIVES: usize = 64;

/// Nouns, in the singular.
#[rustfmt::skip]
pub(crate) const NOUNS: [&str; 256] = [
    "river", "window", "market", "doctor", "teacher", "letter", "bridge", "station", "engine", "forest",
    "paper", "machine", "picture", "system", "question", "answer", "family", "company", "country", "city",
    "school", "house", "street", "water", "fire", "stone", "wood", "glass", "gold", "iron", "horse", "bird",
    "fish", "dog", "cat", "tree", "flower", "grass", "leaf", "field", "hill", "lake", "sea", "road", "path",
    "train", "ship", "boat", "plane", "car", "wheel", "door", "wall", "floor", "room", "table", "chair", "bed",
    "light", "book", "page", "story", "song", "music", "game", "player", "team", "king", "peace", "law",
    "court", "bank", "money", "price", "trade", "shop", "store", "customer", "worker", "driver", "artist",
    "writer", "actor", "friend", "child", "woman", "man", "boy", "girl", "mother", "father", "daughter", "son",
    "people", "group", "member", "leader", "party", "vote", "report", "record", "number", "list", "map", "plan",
    "project", "design", "model", "test", "result", "reason", "cause", "effect", "problem", "solution", "idea",
    "fact", "secret", "love", "joy", "voice", "word", "language", "sound", "color", "line", "circle", "square",
    "edge", "center", "side", "top", "bottom", "front", "back", "west", "wind", "rain", "storm", "cloud", "sky",
    "sun", "star", "earth", "space", "time", "hour", "day", "week", "month", "year", "history", "future",
    "past", "moment", "night", "food", "bread", "fruit", "apple", "orange", "egg", "rice", "meal", "cup",
    "plate", "box", "bag", "key", "lock", "chain", "wire", "tool", "phone", "radio", "computer", "screen",
    "signal", "network", "message", "program", "code", "data", "file", "memory", "energy", "power", "heat",
    "gas", "coal", "hat", "ring", "garden", "village", "mountain", "kitchen", "captain", "island", "harbor",
    "summer", "winter", "morning", "evening", "metal", "silver", "farm", "valley", "ocean", "beach", "roof",
    "lamp", "shadow", "mirror", "dance", "coach", "queen", "prince", "soldier", "army", "battle", "judge",
    "police", "officer", "farmer", "pilot", "singer", "neighbor", "guest", "brother", "sister", "wife",
    "husband", "baby", "crowd", "president", "minister", "government", "election", "theory", "truth", "dream",
    "hope", "fear", "smile", "sentence", "noise", "silence", "corner", "north", "south", "east", "snow", "moon",
    "planet", "minute", "century",
];

/// Adjectives.
#[rustfmt::skip]
pub(crate) const ADJECTIVES: [&str; 128] = [
    "old", "new", "small", "large", "great", "little", "big", "long", "short", "high", "low", "deep", "wide",
    "dark", "bright", "hot", "cool", "soft", "hard", "rough", "sharp", "clean", "quiet", "fast", "slow",
    "early", "late", "quick", "strong", "weak", "rich", "kind", "wise", "simple", "complex", "common",
    "special", "normal", "local", "foreign", "modern", "public", "private", "open", "closed", "empty", "full",
    "broken", "complete", "perfect", "green", "red", "blue", "white", "black", "yellow", "gray", "hidden",
    "lost", "free", "possible", "true", "false", "real", "young", "narrow", "thick", "thin", "heavy", "warm",
    "cold", "dry", "wet", "smooth", "dirty", "fresh", "sweet", "bitter", "loud", "poor", "happy", "sad",
    "angry", "calm", "brave", "proud", "gentle", "honest", "clever", "easy", "difficult", "strange", "rare",
    "famous", "ancient", "brown", "golden", "wooden", "wild", "busy", "lazy", "careful", "serious", "funny",
    "beautiful", "useful", "main", "central", "northern", "southern", "eastern", "western", "royal", "human",
    "natural", "final", "first", "second", "third", "last", "next", "single", "double", "safe", "dangerous",
    "healthy", "hungry", "tired",
];

/// Transitive verbs in the past tense.
#[rustfmt::skip]
pub(crate) const VERBS: [&str; 128] = [
    "opened", "carried", "followed", "watched", "crossed", "reached", "found", "left", "built", "moved",
    "turned", "held", "kept", "showed", "helped", "changed", "covered", "painted", "visited", "described",
    "remembered", "joined", "shared", "studied", "touched", "passed", "called", "asked", "served", "supported",
    "protected", "discovered", "entered", "collected", "created", "designed", "produced", "received",
    "returned", "saved", "sold", "bought", "brought", "caught", "chose", "drew", "drove", "felt", "gave",
    "heard", "hit", "knew", "led", "loved", "made", "met", "needed", "noticed", "offered", "ordered", "owned",
    "paid", "placed", "planned", "played", "praised", "prepared", "promised", "pulled", "pushed", "raised",
    "read", "removed", "repaired", "replaced", "saw", "searched", "sent", "started", "stopped", "took",
    "taught", "tested", "told", "tried", "used", "walked", "wanted", "washed", "won", "wrote", "accepted",
    "added", "admired", "allowed", "avoided", "broke", "burned", "controlled", "counted", "cut", "defended",
    "destroyed", "developed", "explained", "explored", "filled", "finished", "fixed", "forced", "formed",
    "founded", "guided", "improved", "included", "inspired", "learned", "liked", "lifted", "loaded", "measured",
    "mentioned", "selected", "ignored", "enjoyed", "delivered", "reported", "repeated",
];

/// Function words and punctuation, as they follow in a text (with their leading space).
#[rustfmt::skip]
pub(crate) const GLUE: [&str; 32] = [
    ".", ",", " The", " That", " Every", " This", " One", " Today", " Later", " Then", " the", " that", " this", " every",
    " one", " and", " but", " of", " in", " on", " near", " under", " behind", " for", " with", " from", " before",
    " after", " beside", " because", " while", " over",
];

/// Which of [`GLUE`] are prepositions.
pub(crate) const PREPOSITIONS: std::ops::Range<usize> = 17..29;

/// The shapes of sentences: `N` a noun, `J` an adjective, `V` a verb, `P` a preposition, else a word of [`GLUE`].
pub(crate) const SHAPES: [&str; 8] = [
    "The J N V the N P the J N .",
    "That N P the N V that J N .",
    "Every J N V one N and the N V the J N .",
    "Later the N V this N because the J N V that N .",
    "This N V the J N P the N , but the N V every J N .",
    "Today one J N V the N while the N V the N P that N .",
    "One N of the J N V the N .",
    "Then the J N P the N V the N and every N .",
];
