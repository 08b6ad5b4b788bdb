//! Names and sizes of element types and devices: torch's own numbers for them, which only ever were added to
//! (`c10/core/ScalarType.h`, `c10/core/DeviceType.h`).

/// Name and bytes by number.
const TYPES: [(&str, u64); 46] = [
    ("uint8", 1),
    ("int8", 1),
    ("int16", 2),
    ("int32", 4),
    ("int64", 8),
    ("float16", 2),
    ("float32", 4),
    ("float64", 8),
    ("complex32", 4),
    ("complex64", 8),
    ("complex128", 16),
    ("bool", 1),
    ("qint8", 1),
    ("quint8", 1),
    ("qint32", 4),
    ("bfloat16", 2),
    ("quint4x2", 1),
    ("quint2x4", 1),
    ("bits1x8", 1),
    ("bits2x4", 1),
    ("bits4x2", 1),
    ("bits8", 1),
    ("bits16", 2),
    ("float8_e5m2", 1),
    ("float8_e4m3fn", 1),
    ("float8_e5m2fnuz", 1),
    ("float8_e4m3fnuz", 1),
    ("uint16", 2),
    ("uint32", 4),
    ("uint64", 8),
    ("uint1", 1),
    ("uint2", 1),
    ("uint3", 1),
    ("uint4", 1),
    ("uint5", 1),
    ("uint6", 1),
    ("uint7", 1),
    ("int1", 1),
    ("int2", 1),
    ("int3", 1),
    ("int4", 1),
    ("int5", 1),
    ("int6", 1),
    ("int7", 1),
    ("float8_e8m0fnu", 1),
    ("float4_e2m1fn_x2", 1),
];

const DEVICES: [&str; 21] = [
    "cpu",
    "cuda",
    "mkldnn",
    "opengl",
    "opencl",
    "ideep",
    "hip",
    "fpga",
    "maia",
    "xla",
    "vulkan",
    "metal",
    "xpu",
    "mps",
    "meta",
    "hpu",
    "ve",
    "lazy",
    "ipu",
    "mtia",
    "privateuseone",
];

/// The number of the device in the process's own memory.
pub const CPU: i8 = 0;
/// That of the one on which nothing has data.
pub const META: i8 = 14;

/// Bytes of one element; `None` where the number is not known.
pub fn size(dtype: u16) -> Option<u64> {
    TYPES.get(usize::from(dtype)).map(|(_, size)| *size)
}

/// Name of an element type.
pub fn name(dtype: u16) -> String {
    TYPES.get(usize::from(dtype)).map_or_else(|| format!("dtype {dtype}"), |(name, _)| (*name).to_string())
}

/// Name of a device, as torch prints it: `cpu`, `cuda:0`.
pub fn device((kind, index): (i8, i8)) -> String {
    let name = usize::try_from(kind).ok().and_then(|kind| DEVICES.get(kind).copied()).unwrap_or("unknown");
    match (name, index) {
        ("cpu" | "meta", _) | (_, ..=-1) => name.to_string(),
        _ => format!("{name}:{index}"),
    }
}

/// Whether a device's number is known.
pub fn is_device(kind: i8) -> bool {
    usize::try_from(kind).is_ok_and(|kind| kind < DEVICES.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_torchs() {
        assert_eq!((name(6), size(6)), ("float32".into(), Some(4)));
        assert_eq!((name(15), size(15)), ("bfloat16".into(), Some(2)));
        assert_eq!((name(999), size(999)), ("dtype 999".into(), None));
        assert_eq!(device((0, -1)), "cpu");
        assert_eq!(device((0, 0)), "cpu");
        assert_eq!(device((1, 3)), "cuda:3");
        assert_eq!((device((META, 0)), device((CPU, -1))), ("meta".into(), "cpu".into()));
        assert_eq!(device((99, 0)), "unknown:0");
    }
}
