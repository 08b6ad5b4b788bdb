//! Tensors and graphs in made-up memory: fields where a layout says, and memory that lies.
#![allow(clippy::unwrap_used, missing_docs)]

use lowtide_pyheap::native::window::Window;
use lowtide_pyheap::torch::find::{Place, shipped};
use lowtide_pyheap::torch::graph::Graph;
use lowtide_pyheap::torch::groups::groups;
use lowtide_pyheap::torch::{Layout, Storage, Tensor, Torch};
use lowtide_remote::{Fake, Image};
use proptest::prelude::*;
use std::collections::HashMap;

const BASE: u64 = 0x10000;
const TENSOR: u64 = BASE + 0x100;
const STORAGE: u64 = BASE + 0x400;
const META: u64 = BASE + 0x600;
const NODES: [u64; 2] = [BASE + 0x800, BASE + 0xa00];
const FAR: u64 = BASE + 0x1000;
const OBJECT: u64 = BASE + 0x1400;

/// A tensor of these sizes, whose storage has 4096 bytes, made by the first node, which saves it and leads to the second.
fn memory(layout: &Layout, sizes: &[i64]) -> Vec<u8> {
    let mut bytes = vec![0; 0x2000];
    let mut put = |address: u64, word: u64| {
        let at = (address - BASE) as usize;
        bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
    };
    let elements: i64 = sizes.iter().product();
    put(TENSOR + layout.dtype, 6);
    put(TENSOR + layout.storage, STORAGE);
    put(TENSOR + layout.autograd, META);
    put(TENSOR + layout.pyobj, OBJECT);
    put(TENSOR + layout.ndim, sizes.len() as u64);
    put(TENSOR + layout.numel, elements as u64);
    put(TENSOR + layout.offset, 3);
    let far = sizes.len() > 5;
    if far {
        put(TENSOR + layout.sizes, FAR);
    }
    let (first, second) =
        if far { (FAR, FAR + 8 * sizes.len() as u64) } else { (TENSOR + layout.sizes, TENSOR + layout.strides) };
    for (i, &size) in sizes.iter().enumerate() {
        put(first + 8 * i as u64, size as u64);
        put(second + 8 * i as u64, 100 + i as u64);
    }
    put(STORAGE + layout.data, 0x7000_0000);
    put(STORAGE + layout.nbytes, 4096);
    put(META + layout.grad_fn, NODES[0]);
    put(OBJECT, 1);
    if layout.knows_nodes() {
        put(NODES[0] + layout.edges, FAR + 0x200);
        put(NODES[0] + layout.edges + 8, FAR + 0x200 + layout.edge_bytes);
        put(NODES[0] + layout.edges + 16, FAR + 0x200 + layout.edge_bytes);
        put(FAR + 0x200, NODES[1]);
    }
    put(NODES[0] + 0x100, TENSOR);
    bytes
}

fn image(bytes: Vec<u8>) -> Image {
    Fake::new().segment(BASE, bytes).image()
}

fn torch(image: &Image, layout: &Layout) -> Option<Torch> {
    let mut window = Window::new(image);
    let tensor = Tensor::read(&mut window, layout, TENSOR)?;
    let storages: HashMap<u64, Storage> =
        Storage::read(&mut window, layout, STORAGE).map(|storage| (STORAGE, storage)).into_iter().collect();
    // Two classes: what one class's nodes have in common is not asked of the other's.
    let nodes = NODES.iter().zip(0..).map(|(&address, class)| Place { address, size: 0x140, class }).collect();
    Some(Torch { layout: layout.clone(), tensors: vec![tensor], storages, nodes, undefined: None, unread: 0 })
}

#[test]
fn every_layout_is_read_by_its_offsets() {
    for layout in shipped() {
        for sizes in [&[][..], &[7], &[2, 3, 5], &[2, 3, 4, 5, 6], &[1, 2, 3, 4, 5, 6], &[4, 0]] {
            let image = image(memory(&layout, sizes));
            let torch = torch(&image, &layout).unwrap();
            let tensor = &torch.tensors[0];
            assert_eq!((&tensor.shape[..], tensor.offset), (sizes, 3), "{}", layout.torch);
            assert_eq!(tensor.strides, (0..sizes.len() as i64).map(|i| 100 + i).collect::<Vec<_>>());
            assert!(tensor.held && tensor.requires_grad && tensor.grad.is_none());
            assert_eq!((tensor.dtype, tensor.python, tensor.grad_fn), (6, Some(OBJECT), Some(NODES[0])));
            assert_eq!(torch.storage_bytes(), 4096);
            let graph = Graph::read(&mut Window::new(&image), &torch);
            assert_eq!(graph.saved, [vec![TENSOR], vec![]], "{}", layout.torch);
            if layout.knows_nodes() {
                assert_eq!(graph.before, [vec![1], vec![]]);
                assert_eq!(graph.attribute(&torch).held[0].nodes, 2);
            }
        }
    }
}

#[test]
fn a_tensor_is_on_the_device_whose_number_it_has() {
    for layout in shipped() {
        for (kind, index, name) in
            [(0, -1, "cpu"), (1, 0, "cuda:0"), (1, 3, "cuda:3"), (12, 1, "xpu:1"), (13, 0, "mps:0"), (14, -1, "meta")]
        {
            let mut bytes = memory(&layout, &[2, 3]);
            let at = (TENSOR + layout.device - BASE) as usize;
            bytes[at..at + 2].copy_from_slice(&[kind, i8::to_le_bytes(index)[0]]);
            let image = image(bytes);
            let torch = torch(&image, &layout).unwrap();
            let groups = groups(&torch);
            assert_eq!(
                (groups[0].kind.device.as_str(), groups[0].kind.fake, groups[0].bytes),
                (name, false, 4096),
                "{}",
                layout.torch
            );
            // Only what is on the CPU is memory of the process.
            assert_eq!(torch.stretches().len(), usize::from(name == "cpu"), "{name} {}", layout.torch);
        }
    }
}

#[test]
fn a_tensor_that_cpp_alone_keeps_is_not_pythons() {
    for layout in shipped() {
        let mut bytes = memory(&layout, &[2]);
        // Two hold the tensor, of which one is the object; or the flag that says who owns whom.
        bytes[(TENSOR - BASE) as usize + 8] = 2;
        bytes[(TENSOR + layout.pyobj - BASE) as usize] |= u8::from(!layout.counts_python());
        let image = image(bytes);
        let tensor = &torch(&image, &layout).unwrap().tensors[0];
        assert_eq!((tensor.held, tensor.python), (false, Some(OBJECT)), "{}", layout.torch);
    }
}

#[test]
fn what_is_no_tensor_is_none() {
    let layout = &shipped()[0];
    for sizes in [&[-1i64][..], &[1 << 40, 1 << 40]] {
        let mut bytes = memory(layout, &[1; 2][..sizes.len()]);
        for (i, size) in sizes.iter().enumerate() {
            let at = (TENSOR + layout.sizes - BASE) as usize + 8 * i;
            bytes[at..at + 8].copy_from_slice(&size.to_le_bytes());
        }
        assert!(torch(&image(bytes), layout).is_none(), "{sizes:?}");
    }
    assert!(torch(&image(vec![255; 0x2000]), layout).is_none());
}

proptest! {
    /// Whatever memory says, reading ends, and takes little memory.
    #[test]
    fn memory_that_lies_harms_nobody(
        row in 0usize..3,
        lies in proptest::collection::vec((0u64..0x400, prop_oneof![any::<u64>(), BASE..BASE + 0x2000, 0u64..100, Just(u64::MAX), Just(u64::MAX - 7)]), 0..40),
    ) {
        let layout = &shipped()[row];
        let mut bytes = memory(layout, &[2, 3]);
        for (at, word) in lies {
            bytes[8 * at as usize..][..8].copy_from_slice(&word.to_le_bytes());
        }
        let image = image(bytes);
        if let Some(torch) = torch(&image, layout) {
            let graph = Graph::read(&mut Window::new(&image), &torch);
            let attribution = graph.attribute(&torch);
            prop_assert!(attribution.held.len() <= 1);
            prop_assert!(torch.stretches().len() <= 1);
        }
    }
}
