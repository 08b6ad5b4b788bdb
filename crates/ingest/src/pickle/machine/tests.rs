use proptest::prelude::*;

use super::super::{Item, Pickle, PickleError, Value, read};

/// A value as Python writes it.
fn shown(pickle: &Pickle, value: Value) -> String {
    let heap = &pickle.heap;
    match heap.item(value) {
        Item::None => "None".to_owned(),
        Item::Bool(yes) => if yes { "True" } else { "False" }.to_owned(),
        Item::Int(int) => int.to_string(),
        Item::Float(float) => float.to_string(),
        Item::Text(id) => format!("'{}'", heap.text(id)),
        Item::List(id) => {
            let items: Vec<String> = heap.list(id).iter().map(|item| shown(pickle, *item)).collect();
            format!("[{}]", items.join(", "))
        }
        Item::Dict(id) => {
            let (shape, values) = heap.dict(id);
            let pairs = heap.keys(shape).iter().zip(values);
            let pairs: Vec<String> =
                pairs.map(|(key, value)| format!("'{}': {}", heap.text(*key), shown(pickle, *value))).collect();
            format!("{{{}}}", pairs.join(", "))
        }
        Item::Other => "...".to_owned(),
    }
}

fn all(bytes: &[u8]) -> String {
    let pickle = read(bytes).expect("a pickle");
    assert!(!pickle.cut && pickle.bytes == bytes.len() as u64);
    shown(&pickle, pickle.root)
}

// `pickle.dumps({'a': [1, 300, 70000, -5, 2**40, 2**63, -2**62, 1.5, None, True, False], 'b': ('x', 'x'), 'c': (), 'd': [], 'e': {}}, P)`
const BY_PROTOCOL: [&[u8]; 2] = [
    b"\x80\x02}q\x00(X\x01\x00\x00\x00aq\x01]q\x02(K\x01M,\x01Jp\x11\x01\x00J\xfb\xff\xff\xff\x8a\x06\x00\x00\x00\x00\x00\x01\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x80\x00\x8a\x08\x00\x00\x00\x00\x00\x00\x00\xc0G?\xf8\x00\x00\x00\x00\x00\x00N\x88\x89eX\x01\x00\x00\x00bq\x03X\x01\x00\x00\x00xq\x04h\x04\x86q\x05X\x01\x00\x00\x00cq\x06)X\x01\x00\x00\x00dq\x07]q\x08X\x01\x00\x00\x00eq\x09}q\x0au.",
    b"\x80\x05\x95a\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x01a\x94]\x94(K\x01M,\x01Jp\x11\x01\x00J\xfb\xff\xff\xff\x8a\x06\x00\x00\x00\x00\x00\x01\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x80\x00\x8a\x08\x00\x00\x00\x00\x00\x00\x00\xc0G?\xf8\x00\x00\x00\x00\x00\x00N\x88\x89e\x8c\x01b\x94\x8c\x01x\x94h\x04\x86\x94\x8c\x01c\x94)\x8c\x01d\x94]\x94\x8c\x01e\x94}\x94u.",
];

#[test]
fn old_and_new_protocols_say_the_same() {
    for bytes in BY_PROTOCOL {
        assert_eq!(
            all(bytes),
            "{'a': [1, 300, 70000, -5, 1099511627776, ..., -4611686018427387904, 1.5, None, True, False], \
             'b': ['x', 'x'], 'c': [], 'd': [], 'e': {}}"
        );
    }
}

#[test]
fn what_is_referred_to_is_not_copied() {
    // x = ['f'] * 3; [x, x, ['f'] * 3]
    let pickle = read(&b"\x80\x04](]\x94(\x8c\x01f\x94h\x01h\x01eh\x00](h\x01h\x01h\x01ee."[..]).expect("a pickle");
    let Item::List(root) = pickle.heap.item(pickle.root) else { panic!("a list") };
    let items = pickle.heap.list(root);
    assert_eq!(items[0], items[1], "the same list");
    let content =
        |value| if let Item::List(id) = pickle.heap.item(value) { pickle.heap.list(id).as_ptr() } else { panic!("a list") };
    assert_eq!(content(items[0]), content(items[2]), "another list of the same content lies in the same place");
    assert_eq!(pickle.heap.texts(), 1);
}

#[test]
fn a_list_that_grows_is_seen_by_all_that_refer_to_it() {
    assert_eq!(all(b"\x80\x04](]\x94K\x01aK\x02ah\x00h\x00(K\x03K\x04ee."), "[[1, 2, 3, 4], [1, 2, 3, 4], [1, 2, 3, 4]]");
    assert_eq!(all(b"\x80\x04}\x94\x8c\x01aK\x01s\x8c\x01bK\x02s."), "{'a': 1, 'b': 2}");
    assert_eq!(all(b"\x80\x02(X\x01\x00\x00\x00aK\x01d."), "{'a': 1}", "what torch's own pickler in C++ may write");
    assert_eq!(all(b"\x80\x04(K\x01K\x02K\x03\x87(K\x04l)t."), "[[1, 2, 3], [4], []]");
}

#[test]
fn what_would_run_code_is_refused_by_its_name() {
    let refused = |bytes: &[u8]| read(bytes).expect_err("refused").to_string();
    let system = refused(b"\x80\x02cposix\nsystem\nX\x04\x00\x00\x00true\x85R.");
    assert!(system.starts_with("refused: GLOBAL at byte 2 would import posix.system."), "{system}");
    let stacked = refused(b"\x80\x04\x8c\x08builtins\x8c\x04eval\x93\x8c\x011\x85R.");
    assert!(stacked.starts_with("refused: STACK_GLOBAL at byte 18 would import builtins.eval."), "{stacked}");
    for (code, name, offset) in [
        (&b"\x80\x02(ios\nsystem\n."[..], "INST at byte 3 would import and call os.system", 3),
        (b"\x80\x02NR.", "REDUCE", 3),
        (b"\x80\x02NNb.", "BUILD", 4),
        (b"\x80\x02(No.", "OBJ", 4),
        (b"\x80\x02N)\x81.", "NEWOBJ", 4),
        (b"\x80\x04N)}\x92.", "NEWOBJ_EX", 5),
        (b"\x80\x02\x82\x07.", "EXT1 at byte 2 would import what is registered as extension 7", 2),
        (b"\x80\x02\x83\x07\x01.", "EXT2", 2),
        (b"\x80\x02\x84\x07\x00\x00\x00.", "EXT4", 2),
        (b"\x80\x02Pid\n.", "PERSID at byte 2 would ask the reading program for the object id", 2),
        (b"\x80\x02NQ.", "BINPERSID", 3),
    ] {
        let error = read(code).expect_err("refused");
        assert!(matches!(error, PickleError::Code { offset: at, .. } if at == offset), "{error}");
        assert!(error.to_string().contains(name), "{error}");
    }
    let hidden = refused(b"\x80\x02cos\x1b[2J\nsystem\n.");
    assert!(!hidden.contains('\x1b'), "a name is no command for the terminal");
}

#[test]
fn what_is_cut_off_is_read_as_far_as_it_goes() {
    // {'segments': [{'a': 1}, {'a': 2, 'b': 3}], 'device_traces': [[{'x': 4, 'y': 5}]]} as protocol 4 writes it.
    let whole = b"\x80\x04}\x94(\x8c\x08segments\x94]\x94(}\x94\x8c\x01a\x94K\x01s}\x94(h\x04K\x02\x8c\x01b\x94K\x03ue\x8c\x0ddevice_traces\x94]\x94]\x94}\x94(\x8c\x01x\x94K\x04\x8c\x01y\x94K\x05uaau.";
    let full = all(whole);
    assert_eq!(full, "{'segments': [{'a': 1}, {'a': 2, 'b': 3}], 'device_traces': [[{'x': 4, 'y': 5}]]}");
    let cut = |at: usize| {
        let pickle = read(&whole[..at]).expect("the part before");
        assert!(pickle.cut);
        shown(&pickle, pickle.root)
    };
    let end = whole.len();
    assert_eq!(cut(end - 1), full);
    assert_eq!(cut(end - 4), full, "an only item of a list has no mark");
    assert_eq!(cut(end - 7), "{'segments': [{'a': 1}, {'a': 2, 'b': 3}], 'device_traces': [[{'x': 4}]]}");
    assert_eq!(cut(42), "{'segments': [{'a': 1}, {'a': 2, 'b': 3}]}");
    assert_eq!(cut(4), "{}");
    assert!(read(&whole[..2]).is_err());
    for at in 3..end {
        let part = cut(at);
        assert!(part.len() <= full.len(), "{part}");
    }
}

#[test]
fn what_grows_beyond_any_use_is_refused() {
    let mut bytes = b"\x80\x04(".to_vec();
    bytes.resize(30 << 20, b']');
    let error = read(&bytes[..]).expect_err("refused");
    assert!(matches!(error, PickleError::TooMuch { .. }), "{error}");
    let deep = [&b"\x80\x04"[..], &[b'('; 5000]].concat();
    assert!(matches!(read(&deep[..]), Err(PickleError::TooMuch { .. })));
    let promised = b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7f";
    assert!(matches!(read(&promised[..]), Err(PickleError::TooMuch { .. })));
    // Added to itself again and again, a dictionary of many keys is written anew each time.
    let mut bytes = b"\x80\x04}\x94".to_vec();
    for i in 0..200_000_u32 {
        bytes.extend_from_slice(b"\x8c\x04");
        bytes.extend_from_slice(format!("{:04x}", i & 0xffff).as_bytes());
        bytes.extend_from_slice(b"Ns");
    }
    assert!(matches!(read(&bytes[..]), Err(PickleError::TooMuch { .. })));
}

#[test]
fn numbers_keep_their_sign_and_size() {
    for int in [0, 1, -1, i64::from(i32::MIN), (1 << 59) - 1, 1 << 59, -(1 << 59), -(1 << 59) - 1, i64::MAX, i64::MIN] {
        let bytes = [&b"\x80\x02\x8a\x08"[..], &int.to_le_bytes(), b"."].concat();
        assert_eq!(all(&bytes), int.to_string());
    }
    assert_eq!(all(b"\x80\x02\x8a\x00."), "0");
    assert_eq!(all(b"\x80\x02\x8a\x01\xff."), "-1");
    assert_eq!(all(b"\x80\x02\x8b\x02\x00\x00\x00\x00\x80."), "-32768");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn whatever_the_bytes_there_is_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&bytes[..]);
    }

    #[test]
    fn whatever_the_opcodes_there_is_an_answer(
        bytes in prop::collection::vec(prop::sample::select(&b"(})]]}eusaatl0122NK\x01\x02h\x00h\x01q\x00\x94\x94\x85\x86\x87\x88\x8c\x01d\x8f\x90\x91"[..]), 0..200)
    ) {
        let bytes = [b"\x80\x04", &bytes[..]].concat();
        if let Ok(pickle) = read(&bytes[..]) {
            // A list may hold itself: what is looked at is each by itself.
            for list in 0..pickle.heap.lists() {
                for value in pickle.heap.list(crate::pickle::ListId(list as u32)) {
                    let _ = pickle.heap.item(*value);
                }
            }
            for dict in 0..pickle.heap.dicts() {
                let (shape, values) = pickle.heap.dict(crate::pickle::DictId(dict as u32));
                prop_assert_eq!(pickle.heap.keys(shape).len(), values.len());
            }
        }
    }
}
