//! The examples of RFC 7541, appendix C, and what no encoder may do.

use super::*;

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u32> = hex.chars().filter_map(|c| c.to_digit(16)).collect();
    digits.chunks(2).map(|pair| u8::try_from(pair[0] * 16 + pair[1]).unwrap()).collect()
}

fn headers(decoder: &mut Decoder, hex: &str) -> String {
    let mut found = String::new();
    decoder
        .decode(&bytes(hex), |name, value| {
            for part in [&String::from_utf8_lossy(name), ": ", &String::from_utf8_lossy(value), "\n"] {
                found.push_str(part);
            }
            Ok(())
        })
        .unwrap();
    found
}

fn error(hex: &str) -> Http2Error {
    Decoder::new(65_536).decode(&bytes(hex), |_, _| Ok(())).unwrap_err()
}

/// The dynamic table, newest first, and its size.
fn table(decoder: &Decoder) -> (Vec<String>, usize) {
    let entries = decoder.entries.iter().map(|entry| {
        let (name, value) = entry.bytes.split_at(entry.name);
        format!("{}: {}", String::from_utf8_lossy(name), String::from_utf8_lossy(value))
    });
    (entries.collect(), decoder.cost)
}

#[test]
fn c_1_integers() {
    let mut out = Vec::new();
    encode_integer(10, 5, 0, &mut out);
    assert_eq!(out, [10]);
    out.clear();
    encode_integer(1337, 5, 0, &mut out);
    assert_eq!(out, [31, 154, 10]);
    assert_eq!(integer(&mut &out[..], 5).unwrap(), 1337);
    assert_eq!(integer(&mut &[0b1110_1010][..], 5).unwrap(), 10);
    assert_eq!(integer(&mut &[42][..], 8).unwrap(), 42);
}

#[test]
fn c_2_header_fields() {
    let mut decoder = Decoder::new(65_536);
    let indexed = "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572";
    assert_eq!(headers(&mut decoder, indexed), "custom-key: custom-header\n");
    assert_eq!(table(&decoder), (vec!["custom-key: custom-header".to_owned()], 55));
    let mut decoder = Decoder::new(65_536);
    assert_eq!(headers(&mut decoder, "040c 2f73 616d 706c 652f 7061 7468"), ":path: /sample/path\n");
    assert_eq!(headers(&mut decoder, "1008 7061 7373 776f 7264 0673 6563 7265 74"), "password: secret\n");
    assert_eq!(headers(&mut decoder, "82"), ":method: GET\n");
    assert_eq!(table(&decoder), (vec![], 0));
}

const REQUESTS: [&str; 3] = [
    ":method: GET\n:scheme: http\n:path: /\n:authority: www.example.com\n",
    ":method: GET\n:scheme: http\n:path: /\n:authority: www.example.com\ncache-control: no-cache\n",
    ":method: GET\n:scheme: https\n:path: /index.html\n:authority: www.example.com\ncustom-key: custom-value\n",
];

#[test]
fn c_3_and_c_4_requests() {
    let plain = [
        "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "8286 84be 5808 6e6f 2d63 6163 6865",
        "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
    ];
    let huffman = [
        "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
        "8286 84be 5886 a8eb 1064 9cbf",
        "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
    ];
    for blocks in [plain, huffman] {
        let mut decoder = Decoder::new(65_536);
        for (block, request) in blocks.iter().zip(REQUESTS) {
            assert_eq!(headers(&mut decoder, block), request);
        }
        let entries = ["custom-key: custom-value", "cache-control: no-cache", ":authority: www.example.com"];
        assert_eq!(table(&decoder), (entries.map(str::to_owned).to_vec(), 164));
    }
}

const RESPONSES: [&str; 3] = [
    ":status: 302\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:21 GMT\nlocation: https://www.example.com\n",
    ":status: 307\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:21 GMT\nlocation: https://www.example.com\n",
    ":status: 200\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:22 GMT\nlocation: https://www.example.com\n\
     content-encoding: gzip\n\
     set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1\n",
];

#[test]
fn c_5_and_c_6_responses_with_eviction() {
    let plain = [
        "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3120 474d \
         546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "4803 3330 37c1 c0bf",
        "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 7738 666f \
         6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b \
         2076 6572 7369 6f6e 3d31",
    ];
    let huffman = [
        "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 \
         8f0b 97c8 e9ae 82ae 43d3",
        "4883 640e ffc1 c0bf",
        "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335 \
         dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07",
    ];
    for blocks in [plain, huffman] {
        let mut decoder = Decoder::new(65_536);
        decoder.resize(256).unwrap();
        for (block, response) in blocks.iter().zip(RESPONSES) {
            assert_eq!(headers(&mut decoder, block), response);
        }
        let entries = [
            "set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
            "content-encoding: gzip",
            "date: Mon, 21 Oct 2013 20:13:22 GMT",
        ];
        assert_eq!(table(&decoder), (entries.map(str::to_owned).to_vec(), 215));
    }
}

#[test]
fn blocks_that_no_encoder_writes() {
    let compression = |hex: &str| matches!(error(hex), Http2Error::Protocol { code, .. } if code.0 == 9);
    assert!(compression("80"), "number zero");
    assert!(compression("be"), "the first of an empty table");
    assert!(compression("40"), "no name");
    assert!(compression("040c 2f73"), "a value that ends early");
    assert!(compression("ff ff ff ff ff 7f"), "a number beyond all bounds");
    assert!(compression("3f e2 1f"), "a table of 4097 bytes");
    assert!(compression("82 20"), "a table size after a header");
}

#[test]
fn an_entry_larger_than_the_table_empties_it() {
    let mut decoder = Decoder::new(65_536);
    headers(&mut decoder, "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572");
    assert_eq!(decoder.entries.len(), 1);
    headers(&mut decoder, "3f0d 400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572");
    assert_eq!(table(&decoder), (vec![], 0), "a table of 44 bytes does not hold an entry of 55");
}

#[test]
fn lists_are_limited() {
    // One entry of about a kilobyte, named seventy times by its number: a few bytes become many.
    let mut block = vec![0x40, 1, b'a', 0x7f, 0x81, 0x07];
    block.extend(vec![b'x'; 127 + 0x81 - 0x80 + 7 * 128]);
    block.extend(vec![0xbe; 70]);
    let outcome = Decoder::new(65_536).decode(&block, |_, _| Ok(()));
    assert!(matches!(outcome, Err(Http2Error::Malformed { .. })), "{outcome:?}");
}

#[test]
fn what_is_encoded_is_decoded() {
    let long = "x".repeat(300);
    let fields = [(":method", "POST"), ("authorization", "Bearer k"), ("x-own", long.as_str()), ("accept", "")];
    let mut block = Vec::new();
    encode_no_table(&mut block);
    for (name, value) in fields {
        encode(name.as_bytes(), value.as_bytes(), Secrecy::NeverIndexed, &mut block);
    }
    let mut found = Vec::new();
    let mut decoder = Decoder::new(65_536);
    decoder
        .decode(&block, |name, value| {
            found.push((String::from_utf8(name.to_vec()).unwrap(), String::from_utf8(value.to_vec()).unwrap()));
            Ok(())
        })
        .unwrap();
    assert_eq!(found, fields.map(|(name, value)| (name.to_owned(), value.to_owned())));
    assert!(decoder.entries.is_empty());
}
