//! Messages as they stand in public reports of users, with every figure in them.

use lowtide_ingest::log::Family::{
    BadAlloc, CpuAllocator, Cuda, DataLoader, Docker, Elastic, ExitCode, Fork, Hip, Kernel, KernelPart, Kubernetes, MemoryError,
    Mps, Numpy, Ray, SharedMemory, Shell, Slurm, TensorFlow, Xpu,
};

use crate::{GIB, KIB, MIB, has, log, one};

#[test]
fn cuda_up_to_1_3() {
    has(
        "RuntimeError: CUDA out of memory. Tried to allocate 12.50 MiB (GPU 0; 10.92 GiB total capacity; 8.57 MiB already allocated; 9.28 GiB free; 4.68 MiB cached)",
        Cuda,
        &[
            ("tried_to_allocate", 12.5 * MIB),
            ("gpu", 0.0),
            ("total_capacity", 10.92 * GIB),
            ("allocated", 8.57 * MIB),
            ("free", 9.28 * GIB),
            ("reserved_unallocated", 4.68 * MIB),
        ],
    );
    has(
        "RuntimeError: CUDA out of memory. Tried to allocate 26.00 MiB (GPU 0; 1024.00 MiB total capacity; 435.61 MiB already allocated; 24.17 MiB free; 26.39 MiB cached)",
        Cuda,
        &[
            ("tried_to_allocate", 26.0 * MIB),
            ("gpu", 0.0),
            ("total_capacity", 1024.0 * MIB),
            ("allocated", 435.61 * MIB),
            ("free", 24.17 * MIB),
            ("reserved_unallocated", 26.39 * MIB),
        ],
    );
}

#[test]
fn cuda_1_4_to_2_0() {
    let b = "RuntimeError: CUDA out of memory. Tried to allocate 1006.00 MiB (GPU 0; 10.91 GiB total capacity; 9.18 GiB already allocated; 569.81 MiB free; 9.49 GiB reserved in total by PyTorch";
    let figures = [
        ("tried_to_allocate", 1006.0 * MIB),
        ("gpu", 0.0),
        ("total_capacity", 10.91 * GIB),
        ("allocated", 9.18 * GIB),
        ("free", 569.81 * MIB),
        ("reserved", 9.49 * GIB),
    ];
    has(&format!("{b})"), Cuda, &figures);
    has(b, Cuda, &figures);
    has(&format!("{b}) (malloc at /pytorch/c10/cuda/CUDACachingAllocator.cpp:289)"), Cuda, &figures);
    has(
        "RuntimeError: CUDA out of memory. Tried to allocate 1.65 GiB (GPU 1; 7.79 GiB total capacity; 3.53 GiB already allocated; 1.40 GiB free; 5.28 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF",
        Cuda,
        &[
            ("tried_to_allocate", 1.65 * GIB),
            ("gpu", 1.0),
            ("total_capacity", 7.79 * GIB),
            ("allocated", 3.53 * GIB),
            ("free", 1.4 * GIB),
            ("reserved", 5.28 * GIB),
        ],
    );
    has(
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.56 GiB (GPU 0; 23.68 GiB total capacity; 18.96 GiB already allocated; 2.84 GiB free; 18.97 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.",
        Cuda,
        &[
            ("tried_to_allocate", 4.56 * GIB),
            ("gpu", 0.0),
            ("total_capacity", 23.68 * GIB),
            ("allocated", 18.96 * GIB),
            ("free", 2.84 * GIB),
            ("reserved", 18.97 * GIB),
        ],
    );
    has(
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 23.69 GiB total capacity; 22.06 GiB already allocated; 0 bytes free; 22.30 GiB reserved in total by PyTorch)",
        Cuda,
        &[
            ("tried_to_allocate", 20.0 * MIB),
            ("gpu", 0.0),
            ("total_capacity", 23.69 * GIB),
            ("allocated", 22.06 * GIB),
            ("free", 0.0),
            ("reserved", 22.3 * GIB),
        ],
    );
}

#[test]
fn cuda_2_1_and_later() {
    has(
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 496.00 MiB. GPU 0 has a total capacty of 14.75 GiB of which 235.06 MiB is free. Process 20398 has 14.52 GiB memory in use. Of the allocated memory 14.06 GiB is allocated by PyTorch, and 330.42 MiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF",
        Cuda,
        &[
            ("tried_to_allocate", 496.0 * MIB),
            ("gpu", 0.0),
            ("total_capacity", 14.75 * GIB),
            ("free", 235.06 * MIB),
            ("process_20398_in_use", 14.52 * GIB),
            ("allocated", 14.06 * GIB),
            ("reserved_unallocated", 330.42 * MIB),
        ],
    );
    has(
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 22.00 MiB. GPU 0 has a total capacity of 23.65 GiB of which 11.06 MiB is free. Including non-PyTorch memory, this process has 23.60 GiB memory in use. Of the allocated memory 22.90 GiB is allocated by PyTorch, and 194.87 MiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)",
        Cuda,
        &[
            ("tried_to_allocate", 22.0 * MIB),
            ("gpu", 0.0),
            ("total_capacity", 23.65 * GIB),
            ("free", 11.06 * MIB),
            ("process_in_use", 23.6 * GIB),
            ("allocated", 22.9 * GIB),
            ("reserved_unallocated", 194.87 * MIB),
        ],
    );
    has(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.32 GiB. GPU 0 has a total capacity of 31.73 GiB of which 1.14 GiB is free. Process 608946 has 14.91 GiB memory in use. Process 734147 has 15.68 GiB memory in use. Of the allocated memory 14.20 GiB is allocated by PyTorch, with 46.00 MiB allocated in private pools (e.g., CUDA Graphs), and 398.88 MiB is reserved by PyTorch but unallocated.",
        Cuda,
        &[
            ("tried_to_allocate", 2.32 * GIB),
            ("gpu", 0.0),
            ("total_capacity", 31.73 * GIB),
            ("free", 1.14 * GIB),
            ("process_608946_in_use", 14.91 * GIB),
            ("process_734147_in_use", 15.68 * GIB),
            ("allocated", 14.2 * GIB),
            ("private_pools", 46.0 * MIB),
            ("reserved_unallocated", 398.88 * MIB),
        ],
    );
}

#[test]
fn hip_and_xpu() {
    has(
        "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity of 255.98 GiB of which 244.65 GiB is free. 1.05 GiB allowed; Of the allocated memory 1017.01 MiB is allocated by PyTorch, with 17.00 MiB allocated in private pools (e.g., HIP Graphs), and 54.99 MiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.",
        Hip,
        &[
            ("tried_to_allocate", 2.0 * MIB),
            ("gpu", 0.0),
            ("total_capacity", 255.98 * GIB),
            ("free", 244.65 * GIB),
            ("allowed", 1.05 * GIB),
            ("allocated", 1017.01 * MIB),
            ("private_pools", 17.0 * MIB),
            ("reserved_unallocated", 54.99 * MIB),
        ],
    );
    has(
        "torch.OutOfMemoryError: XPU out of memory. Tried to allocate 4.66 GiB. GPU 0 has a total capacity of 5.65 GiB of which 5.65 GiB is free. Of the allocated memory 195.50 KiB is allocated by PyTorch, and 1.81 MiB is reserved by PyTorch but unallocated. Please use `empty_cache` to release all unoccupied cached memory.",
        Xpu,
        &[
            ("tried_to_allocate", 4.66 * GIB),
            ("gpu", 0.0),
            ("total_capacity", 5.65 * GIB),
            ("free", 5.65 * GIB),
            ("allocated", 195.5 * KIB),
            ("reserved_unallocated", 1.81 * MIB),
        ],
    );
    has(
        "torch.OutOfMemoryError: XPU out of memory. Tried to allocate 9.00 GiB. GPU 0 has a total capacity of 15.00 GiB of which 14.00 GiB is free. 8.27 GiB allowed; Of the allocated memory 0 bytes is allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated.",
        Xpu,
        &[
            ("tried_to_allocate", 9.0 * GIB),
            ("gpu", 0.0),
            ("total_capacity", 15.0 * GIB),
            ("free", 14.0 * GIB),
            ("allowed", 8.27 * GIB),
            ("allocated", 0.0),
            ("reserved_unallocated", 0.0),
        ],
    );
}

#[test]
fn mps() {
    has(
        "RuntimeError: MPS backend out of memory (MPS allocated: 6.04 GB, other allocations: 1.04 GB, max allowed: 6.77 GB). Tried to allocate 459.07 MB on private pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit for memory allocations (may cause system failure)",
        Mps,
        &[
            ("mps_allocated", 6.04 * GIB),
            ("other_allocations", 1.04 * GIB),
            ("max_allowed", 6.77 * GIB),
            ("tried_to_allocate", 459.07 * MIB),
        ],
    );
    has(
        "MPS backend out of memory (MPS allocated: 9.57 GiB, other allocations: 17.35 GiB, max allowed: 27.20 GiB). Tried to allocate 292.50 MiB on private pool.",
        Mps,
        &[
            ("mps_allocated", 9.57 * GIB),
            ("other_allocations", 17.35 * GIB),
            ("max_allowed", 27.2 * GIB),
            ("tried_to_allocate", 292.5 * MIB),
        ],
    );
    has(
        "MPS backend out of memory (MPS allocated: 8.93 GB, other allocations: 2.41 MiB",
        Mps,
        &[("mps_allocated", 8.93 * GIB), ("other_allocations", 2.41 * MIB)],
    );
}

#[test]
fn other_texts_of_devices() {
    has(
        "RuntimeError: CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.",
        Cuda,
        &[],
    );
    has("RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", Cuda, &[]);
    has(
        "failed to allocate 17.79G (19104890880 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
        Cuda,
        &[("tried_to_allocate", 19_104_890_880.0)],
    );
    let unsure = log(
        "RuntimeError: cuDNN error: CUDNN_STATUS_NOT_SUPPORTED. This error may appear if you passed in a non-contiguous input.",
    );
    assert!(unsure.incidents.is_empty() && unsure.said.len() == 1, "{unsure:?}");
}

#[test]
fn allocator_of_main_memory() {
    has(
        "RuntimeError: [enforce fail at CPUAllocator.cpp:56] posix_memalign(&data, gAlignment, nbytes) == 0. 12 vs 0",
        CpuAllocator,
        &[("source_line", 56.0), ("error_code", 12.0)],
    );
    for (text, line, bytes) in [
        (
            "[enforce fail at CPUAllocator.cpp:64] . DefaultCPUAllocator: can't allocate memory: you tried to allocate 1178729664 bytes. Error code 12 (Cannot allocate memory)",
            64.0,
            1_178_729_664.0,
        ),
        (
            "[enforce fail at alloc_cpu.cpp:73] . DefaultCPUAllocator: can't allocate memory: you tried to allocate 116813856768 bytes. Error code 12 (Cannot allocate memory)",
            73.0,
            116_813_856_768.0,
        ),
        (
            "[enforce fail at alloc_cpu.cpp:75] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 132426121216 bytes. Error code 12 (Cannot allocate memor\ny)",
            75.0,
            132_426_121_216.0,
        ),
    ] {
        has(
            &format!("RuntimeError: {text}"),
            CpuAllocator,
            &[("source_line", line), ("tried_to_allocate", bytes), ("error_code", 12.0)],
        );
    }
    has(
        r"RuntimeError: [enforce fail at C:\b\abs_bao0hdcrdh\croot\pytorch_1675190257512\work\c10\core\impl\alloc_cpu.cpp:81] data. DefaultCPUAllocator: not enough memory: you tried to allocate 1981808640 bytes.",
        CpuAllocator,
        &[("source_line", 81.0), ("tried_to_allocate", 1_981_808_640.0)],
    );
}

#[test]
fn workers_of_a_loader() {
    has(
        "RuntimeError: DataLoader worker (pid 46794) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory. Please try to raise your shared memory limit.",
        DataLoader,
        &[("pid", 46_794.0), ("signal", 7.0)],
    );
    has(
        "RuntimeError: DataLoader worker (pid 19597) is killed by signal: Killed. ",
        DataLoader,
        &[("pid", 19_597.0), ("signal", 9.0)],
    );
    has(
        "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).",
        SharedMemory,
        &[],
    );
    for weak in [
        "RuntimeError: DataLoader worker (pid 8102) is killed by signal: Terminated.",
        "RuntimeError: DataLoader worker (pid(s) 3216) exited unexpectedly",
    ] {
        let weak = log(weak);
        assert!(weak.incidents.is_empty() && weak.said.len() == 1, "{weak:?}");
    }
}

#[test]
fn elastic() {
    has(
        "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -9) local_rank: 0 (pid: 1322) of binary: /opt/conda/bin/python",
        Elastic,
        &[("exit_code", -9.0), ("local_rank", 0.0), ("pid", 1322.0)],
    );
    has(
        "  rank      : 0 (local_rank: 0)\n  exitcode  : -9 (pid: 14750)\n  error_file: <N/A>\n  traceback : Signal 9 (SIGKILL) received by PID 14750",
        Elastic,
        &[("rank", 0.0), ("local_rank", 0.0), ("exit_code", -9.0), ("pid", 14_750.0)],
    );
}

#[test]
fn ray() {
    let text = "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\nMemory on the node (IP: 192.168.0.107, ID: fc2befb2867ce88e73a8a45572c43a640751ae1f2b5e15bd8315f293) where the task (actor ID: f9cc340f5aef7b479d86345001000000, name=SimEnv.__init__, pid=4331, memory used=2.22GB) was running was 59.49GB / 62.58GB (0.950744), which exceeds the memory usage threshold of 0.95. Ray killed this worker (ID: d98ac96c) because it was the most recently scheduled task";
    has(
        text,
        Ray,
        &[
            ("node_used", 59.49 * GIB),
            ("node_total", 62.58 * GIB),
            ("node_share", 0.950_744),
            ("threshold", 0.95),
            ("pid", 4331.0),
            ("task_used", 2.22 * GIB),
        ],
    );
    let incident = one(text);
    assert_eq!(incident.main().words["node"], "192.168.0.107");
    assert_eq!(incident.main().words["victim"], "SimEnv.__init__");
    has(
        "Memory on the node (IP: 10.0.0.1, ID: ab12) where the task (task ID: 16310a0f, name=allocate_memory, pid=548, memory used=12.18GB) was running was 29.40GB / 30.00GB (0.98), which exceeds the memory usage threshold of 0.9.",
        Ray,
        &[
            ("node_used", 29.4 * GIB),
            ("node_total", 30.0 * GIB),
            ("node_share", 0.98),
            ("threshold", 0.9),
            ("pid", 548.0),
            ("task_used", 12.18 * GIB),
        ],
    );
    // Who had most, in its table.
    let table = format!(
        "{text} Top 10 memory users:\nPID\tMEM(GB)\tCOMMAND\n410728\t8.47\tpython train.py\n510953\t7.19\tray::allocate\nRefer to the documentation"
    );
    let incident = one(&table);
    let numbers = incident.numbers();
    assert_eq!((numbers["process_410728_used"], numbers["process_510953_used"]), ((8.47 * GIB).round(), (7.19 * GIB).round()));
    let why = log(&table).findings()[0].why.clone().unwrap();
    assert!(why.contains("most had python train.py (pid 410728) with 8.47 GiB"), "{why}");
    assert!(log("PID MEM COMMAND\n12 3.5 python\n").incidents.is_empty(), "somebody else's table");
    has(
        "(raylet) [2023-07-23 15:21:29,851 E 9751 9751] (raylet) node_manager.cc:3084: 4 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed due to other reasons at node (ID: 9c8a, IP: 172.28.0.12) over the last time period.",
        Ray,
        &[("workers_killed", 4.0), ("workers_crashed", 0.0)],
    );
    has(
        "ray.memory_monitor.RayOutOfMemoryError: More than 95% of the memory on node eric-ThinkPad is used (11.8 / 12.3 GB). The top 5 memory consumers are:",
        Ray,
        &[("threshold_percent", 95.0), ("node_used", 11.8 * GIB), ("node_total", 12.3 * GIB)],
    );
}

#[test]
fn tensorflow_and_jax() {
    has(
        "OOM when allocating tensor with shape[256,64,112,112] and type double on /job:localhost/replica:0/task:0/device:GPU:1 by allocator GPU_1_bfc",
        TensorFlow,
        &[("tensor_bytes", 256.0 * 64.0 * 112.0 * 112.0 * 8.0), ("gpu", 1.0)],
    );
    let cut = "OOM when allocating tensor with shape[256,64,11 and type double on /job:localhost/replica:0/task:0/device:GPU:1 by allocator GPU_1_bfc";
    has(cut, TensorFlow, &[("gpu", 1.0)]);
    assert!(log(cut).said[0].contains("line 1: the tensor's shape is cut"), "{:?}", log(cut).said);
    has(
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17179869184 bytes.",
        TensorFlow,
        &[("tried_to_allocate", 17_179_869_184.0)],
    );
    has(
        "W external/org_tensorflow/tensorflow/core/common_runtime/bfc_allocator.cc:457] Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.50GiB (rounded to 2684354560)requested by op",
        TensorFlow,
        &[("tried_to_allocate", 2.5 * GIB), ("rounded_to", 2_684_354_560.0), ("gpu", 0.0)],
    );
}

#[test]
fn kernel_whole_machine() {
    has(
        "2024-04-29T14:55:41,678628+02:00 pool invoked oom-killer: gfp_mask=0x6200ca(GFP_HIGHUSER_MOVABLE), order=0, oom_score_adj=0
2024-04-29T14:55:41,678996+02:00 [  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name
2024-04-29T14:55:41,679685+02:00 oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/user.slice/user-21417.slice/user@21417.service,task=perl,pid=1440763,uid=21417
2024-04-29T14:55:41,679700+02:00 Out of memory: Killed process 1440763 (perl) total-vm:87033376kB, anon-rss:60356340kB, file-rss:0kB, shmem-rss:0kB, UID:21417 pgtables:169956kB oom_score_adj:0
2024-04-29T14:55:46,947445+02:00 oom_reaper: reaped process 1440763 (perl), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB",
        Kernel,
        &[
            ("gfp_mask", f64::from(0x6200ca)),
            ("order", 0.0),
            ("invoker_oom_score_adj", 0.0),
            ("pid", 1_440_763.0),
            ("uid", 21_417.0),
            ("total_vm", 87_033_376.0 * KIB),
            ("anon_rss", 60_356_340.0 * KIB),
            ("file_rss", 0.0),
            ("shmem_rss", 0.0),
            ("pgtables", 169_956.0 * KIB),
            ("oom_score_adj", 0.0),
            ("reaped_anon_rss", 0.0),
            ("reaped_file_rss", 0.0),
            ("reaped_shmem_rss", 0.0),
        ],
    );
    let python = "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/user.slice/user-1000.slice,task=python,pid=698405,uid=1000
Out of memory: Killed process 698405 (python) total-vm:49978204kB, anon-rss:12918388kB, file-rss:68668kB, shmem-rss:53352kB, UID:1000 pgtables:49772kB oom_score_adj:0";
    has(
        python,
        Kernel,
        &[
            ("pid", 698_405.0),
            ("uid", 1000.0),
            ("total_vm", 49_978_204.0 * KIB),
            ("anon_rss", 12_918_388.0 * KIB),
            ("file_rss", 68_668.0 * KIB),
            ("shmem_rss", 53_352.0 * KIB),
            ("pgtables", 49_772.0 * KIB),
            ("oom_score_adj", 0.0),
        ],
    );
    assert_eq!(one(python).main().words["victim"], "python");
    has(
        "Out of memory: Killed process 15784 (python3) total-vm:11964kB, anon-rss:4288kB, file-rss:3028kB, shmem-rss:0kB",
        Kernel,
        &[
            ("pid", 15_784.0),
            ("total_vm", 11_964.0 * KIB),
            ("anon_rss", 4288.0 * KIB),
            ("file_rss", 3028.0 * KIB),
            ("shmem_rss", 0.0),
        ],
    );
    let brackets = "Killed process 15925 ((resolved)) total-vm:11964kB, anon-rss:4288kB, file-rss:0kB";
    has(brackets, Kernel, &[("pid", 15_925.0), ("total_vm", 11_964.0 * KIB), ("anon_rss", 4288.0 * KIB), ("file_rss", 0.0)]);
    assert_eq!(one(brackets).main().words["victim"], "(resolved)");
}

#[test]
fn kernel_of_old() {
    has(
        "Out of memory: Kill process 25635 (python) score 974 or sacrifice child\nKilled process 25635 (python) total-vm:55518724kB, anon-rss:23902876kB, file-rss:154436kB",
        Kernel,
        &[
            ("pid", 25_635.0),
            ("score", 974.0),
            ("total_vm", 55_518_724.0 * KIB),
            ("anon_rss", 23_902_876.0 * KIB),
            ("file_rss", 154_436.0 * KIB),
        ],
    );
    has(
        "Killed process 42424 (memcg_test_1), UID 0, total-vm:7296kB, anon-rss:96kB, file-rss:0kB, shmem-rss:0kB",
        Kernel,
        &[
            ("pid", 42_424.0),
            ("uid", 0.0),
            ("total_vm", 7296.0 * KIB),
            ("anon_rss", 96.0 * KIB),
            ("file_rss", 0.0),
            ("shmem_rss", 0.0),
        ],
    );
    has(
        "Memory cgroup out of memory: Kill process 24572 (java) score 0 or sacrifice child",
        KernelPart,
        &[("pid", 24_572.0), ("score", 0.0)],
    );
}

#[test]
fn kernel_of_a_cgroup() {
    has(
        "[ 7063.247407] Memory cgroup out of memory: Killed process 63214 (uwsgi) total-vm:3149468kB, anon-rss:164992kB, file-rss:52176kB, shmem-rss:92kB, UID:0 pgtables:1372kB oom_score_adj:986",
        Kernel,
        &[
            ("pid", 63_214.0),
            ("total_vm", 3_149_468.0 * KIB),
            ("anon_rss", 164_992.0 * KIB),
            ("file_rss", 52_176.0 * KIB),
            ("shmem_rss", 92.0 * KIB),
            ("uid", 0.0),
            ("pgtables", 1372.0 * KIB),
            ("oom_score_adj", 986.0),
        ],
    );
    let whole = "[ 7093.543707] uwsgi invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=986
[ 7093.543800] memory: usage 42240kB, limit 42240kB, failcnt 17
[ 7093.543801] memory+swap: usage 0kB, limit 9007199254740988kB, failcnt 0
[ 7093.543801] swap: usage 40kB, limit 9007199254740988kB, failcnt 3
[ 7093.543802] Memory cgroup stats for /liz:
[ 7093.543803] anon 2141384704
[ 7093.543804] file 0
[ 7093.543805] kernel 6090752
[ 7093.543806] Tasks state (memory values in pages):
[ 7093.543807] [  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name
[ 7093.543808] [ 561762]     0 561762     5871     1793    77824      240             0 python3
[ 7093.543809] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/liz,task_memcg=/liz,task=python3,pid=561762,uid=0
[ 7093.543810] Memory cgroup out of memory: Killed process 561762 (python3) total-vm:23484kB, anon-rss:164992kB, file-rss:52176kB, shmem-rss:92kB, UID:0 pgtables:76kB oom_score_adj:0";
    has(
        whole,
        Kernel,
        &[
            ("gfp_mask", f64::from(0xcc0)),
            ("order", 0.0),
            ("invoker_oom_score_adj", 986.0),
            ("memory_usage", 42_240.0 * KIB),
            ("memory_limit", 42_240.0 * KIB),
            ("memory_failcnt", 17.0),
            ("memory_swap_usage", 0.0),
            ("memory_swap_failcnt", 0.0),
            ("swap_usage", 40.0 * KIB),
            ("swap_failcnt", 3.0),
            ("stat_anon", 2_141_384_704.0),
            ("stat_file", 0.0),
            ("stat_kernel", 6_090_752.0),
            ("tasks", 1.0),
            ("tasks_rss", 1793.0 * 4096.0),
            ("pid", 561_762.0),
            ("uid", 0.0),
            ("total_vm", 23_484.0 * KIB),
            ("anon_rss", 164_992.0 * KIB),
            ("file_rss", 52_176.0 * KIB),
            ("shmem_rss", 92.0 * KIB),
            ("pgtables", 76.0 * KIB),
            ("oom_score_adj", 0.0),
        ],
    );
    assert_eq!(one(whole).main().words["path"], "/liz");
    let old = "memory: usage 42240kB, limit 42240kB, failcnt 0\nMemory cgroup stats for /0: cache:0KB rss:512KB rss_huge:0KB mapped_file:0KB swap:0KB inactive_anon:12KB\nMemory cgroup out of memory: Kill process 7 (a) score 0 or sacrifice child\nKilled process 7 (a) total-vm:8kB, anon-rss:4kB, file-rss:0kB";
    let numbers = one(old).numbers();
    assert_eq!((numbers["stat_rss"], numbers["stat_inactive_anon"]), (512.0 * KIB, 12.0 * KIB));
}

#[test]
fn slurm() {
    has(
        "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=191.batch cgroup. Some of your processes may have been killed by the cgroup out-of-memory handler.",
        Slurm,
        &[("oom_kill_events", 1.0), ("job_id", 191.0)],
    );
    has(
        "slurmstepd: error: Detected 12 oom-kill event(s) in StepId=16198179.batch. Some of your processes may have been killed by the cgroup out-of-memory handler.",
        Slurm,
        &[("oom_kill_events", 12.0), ("job_id", 16_198_179.0)],
    );
    has(
        "slurmstepd: error: Detected 1 oom_kill event in StepId=11300781.0. Some of the step tasks have been OOM Killed.",
        Slurm,
        &[("oom_kill_events", 1.0), ("job_id", 11_300_781.0), ("step_id", 0.0)],
    );
    has(
        "slurmstepd: error: Detected 1 oom-kill event(s) in step 3495064.0 cgroup. Some of your processes may have been killed by the cgroup out-of-memory handler.",
        Slurm,
        &[("oom_kill_events", 1.0), ("job_id", 3_495_064.0), ("step_id", 0.0)],
    );
    has("srun: error: sdumont6156: task 0: Out Of Memory", Slurm, &[("task", 0.0)]);
    has("srun: error: Orion-01-01: task 4: Out Of Memory", Slurm, &[("task", 4.0)]);
    assert!(log("srun: error: Orion-18-69: task 289: Bus error").incidents.is_empty(), "it may be anything");
    has("191.batch  batch  OUT_OF_MEMORY  0:125", Slurm, &[("exit_code", 0.0), ("signal", 125.0)]);
    has(
        "slurmstepd: error: Job 62 exceeded memory limit (1050100 > 1048576), being killed",
        Slurm,
        &[("job_id", 62.0), ("used", 1_050_100.0 * KIB), ("limit", 1_048_576.0 * KIB)],
    );
}

#[test]
fn containers() {
    has(
        "Last State:     Terminated\n      Reason:       Error\n      Exit Code:    137\n      Started:      Wed, 27 Mar 2019 01:53:04 +0100\n      Finished:     Wed, 27 Mar 2019 02:32:11 +0100",
        Kubernetes,
        &[("exit_code", 137.0)],
    );
    has(
        "    Last State:     Terminated\n      Reason:       OOMKilled\n      Exit Code:    137",
        Kubernetes,
        &[("exit_code", 137.0)],
    );
    has("The node was low on resource: memory.", Kubernetes, &[]);
    has(
        "[f8107735c673549d7acd-n0-0] terminated with exit code (137). Reason [Error]. Message:",
        ExitCode,
        &[("exit_code", 137.0)],
    );
    has(
        "        \"State\": {\n            \"Status\": \"exited\",\n            \"OOMKilled\": true,\n            \"Dead\": false,\n            \"Pid\": 0,\n            \"ExitCode\": 137,\n            \"Error\": \"\"\n        },\n        \"HostConfig\": {\n            \"Memory\": 536870912,\n            \"ShmSize\": 67108864,",
        Docker,
        &[("exit_code", 137.0), ("limit", 536_870_912.0), ("shm_size", 67_108_864.0)],
    );
    assert!(log("\"OOMKilled\": false,\n\"ExitCode\": 0,").incidents.is_empty());
}

#[test]
fn shells_and_codes() {
    let script = "/var/spool/slurmd/job00191/slurm_script: line 28:  8156 Killed                  python3 main.py --prop hform";
    has(script, Shell, &[("script_line", 28.0), ("pid", 8156.0)]);
    assert_eq!(one(script).main().words["command"], "python3 main.py --prop hform");
    has("Killed", Shell, &[]);
    has("zsh: killed     python train.py", Shell, &[]);
    has("[1]+  Killed                  python train.py", Shell, &[]);
    for (text, code) in
        [("exit code 247", 247.0), ("returned non-zero exit status 137.", 137.0), ("died with <Signals.SIGKILL: 9>.", -9.0)]
    {
        has(&format!("subprocess.CalledProcessError: Command '['python']' {text}"), ExitCode, &[("exit_code", code)]);
    }
    for none in ["exit code 1", "exit code 1370", "exit code 13", "Killed the old job", "skilled workers killed time"] {
        assert!(log(none).incidents.is_empty(), "{none}");
    }
}

#[test]
fn python_and_c() {
    has(
        "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 7.28 TiB for an array with shape (1000000, 1000000) and data type float64",
        Numpy,
        &[("tried_to_allocate", 7.28 * 1024.0 * GIB), ("array_bytes", 8e12)],
    );
    has("Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\nMemoryError", MemoryError, &[]);
    has("terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc", BadAlloc, &[]);
    has("OSError: [Errno 12] Cannot allocate memory", Fork, &[("errno", 12.0)]);
    has("OSError: [Errno 28] No space left on device: '/dev/shm/torch_1_2'", SharedMemory, &[("errno", 28.0)]);
    has(
        "RuntimeError: unable to mmap 8388608 bytes from file </torch_12_3423_0>: Cannot allocate memory (12)",
        SharedMemory,
        &[("tried_to_allocate", 8_388_608.0), ("errno", 12.0)],
    );
    assert!(log("OSError: [Errno 28] No space left on device: '/data/ckpt.pt'").incidents.is_empty());
}
