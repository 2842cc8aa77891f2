//! The Huffman code of HPACK (RFC 7541, appendix B), decoding only: this client sends no Huffman-coded text.
//!
//! The code is canonical, so the lengths of its words say all: words of one length are consecutive numbers in the order
//! of their symbols, and the first word of a length follows from the last of the length before.

use super::error::Http2Error;

/// Bits of the longest word.
const LONGEST: usize = 30;

/// The symbol that ends a text and never appears in one.
const END_OF_STRING: u16 = 256;

/// Bits of the word of each symbol.
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, // control characters
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28, //
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, // space to slash
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, // digits
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, // capital letters
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, //
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, // small letters
    6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, //
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, // above ASCII
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, //
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, //
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, //
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, //
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, //
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, //
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, //
    30, // end of string
];

/// For each length: its first word, how many words it has, and where their symbols begin in `symbols`.
struct Code {
    first: [u32; LONGEST + 1],
    count: [u32; LONGEST + 1],
    offset: [u32; LONGEST + 1],
    symbols: [u16; LENGTHS.len()],
}

const CODE: Code = code();

const fn code() -> Code {
    let mut code = Code {
        first: [0; LONGEST + 1],
        count: [0; LONGEST + 1],
        offset: [0; LONGEST + 1],
        symbols: [0; LENGTHS.len()],
    };
    let (mut length, mut word, mut found) = (1, 0, 0);
    while length <= LONGEST {
        word <<= 1;
        code.first[length] = word;
        code.offset[length] = found;
        let mut symbol = 0_u16;
        while (symbol as usize) < LENGTHS.len() {
            if LENGTHS[symbol as usize] as usize == length {
                code.symbols[found as usize] = symbol;
                code.count[length] += 1;
                found += 1;
                word += 1;
            }
            symbol += 1;
        }
        length += 1;
    }
    code
}

/// Appends the text that `coded` stands for to `out`.
pub(super) fn decode(coded: &[u8], out: &mut Vec<u8>) -> Result<(), Http2Error> {
    let (mut word, mut length) = (0_u32, 0_usize);
    for byte in coded {
        for shift in (0..8).rev() {
            word = word << 1 | u32::from(byte >> shift & 1);
            length += 1;
            let index = word.wrapping_sub(CODE.first[length]);
            if index < CODE.count[length] {
                match CODE.symbols[(CODE.offset[length] + index) as usize] {
                    END_OF_STRING => return Err(Http2Error::compression("an end of string inside Huffman-coded text")),
                    symbol => out.push(symbol.to_le_bytes()[0]),
                }
                (word, length) = (0, 0);
            } else if length == LONGEST {
                return Err(Http2Error::compression("bits that are no Huffman word"));
            }
        }
    }
    // What is left is the beginning of the end of string: ones, and fewer than eight.
    if length < 8 && word == (1 << length) - 1 {
        Ok(())
    } else {
        Err(Http2Error::compression("wrong padding of Huffman-coded text"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_appendix() {
        // A sample over all lengths, as printed in RFC 7541, appendix B.
        let printed: [(u8, u32, usize); 8] = [
            (b'0', 0x0, 5),
            (b' ', 0x14, 6),
            (b':', 0x5c, 7),
            (b'&', 0xf8, 8),
            (b'!', 0x3f8, 10),
            (b'{', 0x7ffe, 15),
            (b'\\', 0x7_fff0, 19),
            (22, 0x3fff_fffe, 30),
        ];
        for (symbol, word, length) in printed {
            let padded = (u64::from(word) << (40 - length)) | ((1 << (40 - length)) - 1);
            let bytes = &padded.to_be_bytes()[3..][..length.div_ceil(8)];
            let mut text = Vec::new();
            decode(bytes, &mut text).unwrap();
            assert_eq!(text, [symbol]);
        }
    }

    #[test]
    fn padding_is_checked() {
        let mut text = Vec::new();
        // `0` and three zero bits: not the beginning of the end of string.
        assert!(decode(&[0b0000_0000], &mut text).is_err());
        // A whole byte of padding.
        assert!(decode(&[0b0000_0111, 0xff], &mut text).is_err());
        // The end of string itself.
        assert!(decode(&[0xff, 0xff, 0xff, 0xff], &mut text).is_err());
    }
}
