/* Prints where CPython keeps what lowtide reads, as the Rust literal of crates/pyheap/src/offsets/v3_*.rs.
 * Compiled against one interpreter's headers by layouts.sh. */
#define Py_BUILD_CORE 1
#include <stddef.h>
#include <stdio.h>
#include "Python.h"
#if PY_VERSION_HEX < 0x03090000
#include "frameobject.h"
#endif
#if PY_VERSION_HEX < 0x03090000
#include "internal/pycore_pymem.h"
#else
#include "internal/pycore_gc.h"
#include "internal/pycore_interp.h"
#include "internal/pycore_runtime.h"
#endif
#include "internal/pycore_pystate.h"
#if PY_VERSION_HEX >= 0x030B0000
#include "internal/pycore_frame.h"
#include "internal/pycore_genobject.h"
#include "internal/pycore_dict.h"
#include "internal/pycore_code.h"
#elif PY_VERSION_HEX >= 0x03090000
#include "frameobject.h"
#endif
#if PY_VERSION_HEX >= 0x030B0000
#include "internal/pycore_moduleobject.h"
typedef PyModuleObject Module;
#else
typedef struct { PyObject_HEAD PyObject *md_dict; struct PyModuleDef *md_def; void *md_state; PyObject *md_weaklist; PyObject *md_name; } Module;
#endif

#define N(name, value) printf("    " #name ": %ld,\n", (long)(value));
#define S(name, value) printf("    " #name ": Some(%ld),\n", (long)(value));
#define Z(name) printf("    " #name ": None,\n");
#define O(type, field) offsetof(type, field)
#define FIELD(label, type, field) printf("        (%ld, \"" label "\"),\n", (long)offsetof(type, field));

int main(void) {
    printf("    minor: %d,\n", PY_MINOR_VERSION);
    N(interpreters_head, O(_PyRuntimeState, interpreters.head))
#if PY_VERSION_HEX < 0x03090000
    S(runtime_gc, O(_PyRuntimeState, gc))
    N(interp_gc, 0)
#else
    Z(runtime_gc)
    N(interp_gc, O(PyInterpreterState, gc))
#endif
    N(interp_size, sizeof(PyInterpreterState))
    N(interp_next, O(PyInterpreterState, next))
    N(interp_id, O(PyInterpreterState, id))
#if PY_VERSION_HEX >= 0x030C0000
    N(interp_modules, O(PyInterpreterState, imports.modules))
    N(interp_threads, O(PyInterpreterState, threads.head))
#elif PY_VERSION_HEX >= 0x030B0000
    N(interp_modules, O(PyInterpreterState, modules))
    N(interp_threads, O(PyInterpreterState, threads.head))
#else
    N(interp_modules, O(PyInterpreterState, modules))
    N(interp_threads, O(PyInterpreterState, tstate_head))
#endif
    printf("    generations: &[%ld, %ld, %ld, %ld],\n",
           (long)O(struct _gc_runtime_state, generations), (long)O(struct _gc_runtime_state, generations[1]),
           (long)O(struct _gc_runtime_state, generations[2]), (long)O(struct _gc_runtime_state, permanent_generation));
    N(gc_collecting, O(struct _gc_runtime_state, collecting))
    N(thread_size, sizeof(PyThreadState))
    N(thread_next, O(PyThreadState, next))
#if PY_VERSION_HEX >= 0x030D0000
    N(thread_frame, O(PyThreadState, current_frame))
    Z(cframe_frame)
#elif PY_VERSION_HEX >= 0x030B0000
    N(thread_frame, O(PyThreadState, cframe))
    S(cframe_frame, O(_PyCFrame, current_frame))
#else
    N(thread_frame, O(PyThreadState, frame))
    Z(cframe_frame)
#endif
    N(thread_ident, O(PyThreadState, thread_id))
#if PY_VERSION_HEX >= 0x030B0000
    S(thread_native, O(PyThreadState, native_thread_id))
#else
    Z(thread_native)
#endif

#if PY_VERSION_HEX >= 0x030B0000
    printf("    frame: Frames::Interpreter {\n");
#if PY_VERSION_HEX >= 0x030D0000
    N(    code, O(_PyInterpreterFrame, f_executable))
#else
    N(    code, O(_PyInterpreterFrame, f_code))
#endif
    N(    previous, O(_PyInterpreterFrame, previous))
#if PY_VERSION_HEX >= 0x030C0000
    N(    function, O(_PyInterpreterFrame, f_funcobj))
#else
    N(    function, O(_PyInterpreterFrame, f_func))
#endif
    N(    locals, O(_PyInterpreterFrame, f_locals))
    N(    frame_object, O(_PyInterpreterFrame, frame_obj))
#if PY_VERSION_HEX >= 0x030D0000
    N(    instruction, O(_PyInterpreterFrame, instr_ptr))
#else
    N(    instruction, O(_PyInterpreterFrame, prev_instr))
#endif
#if PY_VERSION_HEX >= 0x030E0000
    printf("    stacktop: Top::Pointer(%ld),\n", (long)O(_PyInterpreterFrame, stackpointer));
#else
    printf("    stacktop: Top::Count(%ld),\n", (long)O(_PyInterpreterFrame, stacktop));
#endif
    N(    owner, O(_PyInterpreterFrame, owner))
    N(    localsplus, O(_PyInterpreterFrame, localsplus))
    N(    object_frame, O(PyFrameObject, f_frame))
    N(    object_data, O(PyFrameObject, _f_frame_data))
    N(    generator_frame, O(PyGenObject, gi_iframe))
    N(    generator_state, O(PyGenObject, gi_frame_state))
    printf("    },\n");
#else
    printf("    frame: Frames::Object {\n");
    N(    back, O(PyFrameObject, f_back))
    N(    code, O(PyFrameObject, f_code))
    N(    locals, O(PyFrameObject, f_locals))
    N(    trace, O(PyFrameObject, f_trace))
    N(    last_instruction, O(PyFrameObject, f_lasti))
    N(    valuestack, O(PyFrameObject, f_valuestack))
#if PY_VERSION_HEX >= 0x030A0000
    S(    stackdepth, O(PyFrameObject, f_stackdepth))
    Z(    stacktop)
#else
    Z(    stackdepth)
    S(    stacktop, O(PyFrameObject, f_stacktop))
#endif
    N(    localsplus, O(PyFrameObject, f_localsplus))
    N(    generator_frame, O(PyGenObject, gi_frame))
    printf("    },\n");
#endif
    printf("    generator: &[\n");
    FIELD("__name__", PyGenObject, gi_name)
    FIELD("__qualname__", PyGenObject, gi_qualname)
    FIELD("cr_origin", PyCoroObject, CR_ORIGIN)
#if PY_VERSION_HEX >= 0x030B0000
    FIELD("exc_info", PyGenObject, gi_exc_state.exc_value)
#else
    FIELD("exc_type", PyGenObject, gi_exc_state.exc_type)
    FIELD("exc_info", PyGenObject, gi_exc_state.exc_value)
    FIELD("exc_traceback", PyGenObject, gi_exc_state.exc_traceback)
#endif
#if PY_VERSION_HEX < 0x030C0000
    FIELD("gi_code", PyGenObject, gi_code)
#endif
    printf("    ],\n");
    N(generator_qualname, O(PyGenObject, gi_qualname))

#if PY_VERSION_HEX >= 0x030B0000
    printf("    locals: Locals::Plus { names: %ld, kinds: %ld, count: %ld },\n", (long)O(PyCodeObject, co_localsplusnames),
           (long)O(PyCodeObject, co_localspluskinds), (long)O(PyCodeObject, co_nlocalsplus));
#else
    printf("    locals: Locals::Apart { names: %ld, cells: %ld, free: %ld, count: %ld },\n", (long)O(PyCodeObject, co_varnames),
           (long)O(PyCodeObject, co_cellvars), (long)O(PyCodeObject, co_freevars), (long)O(PyCodeObject, co_nlocals));
#endif
    N(code_size, sizeof(PyCodeObject))
    N(code_arguments, O(PyCodeObject, co_argcount))
    N(code_stack, O(PyCodeObject, co_stacksize))
    N(code_filename, O(PyCodeObject, co_filename))
    N(code_name, O(PyCodeObject, co_name))
#if PY_VERSION_HEX >= 0x030B0000
    S(code_qualname, O(PyCodeObject, co_qualname))
#else
    Z(code_qualname)
#endif
    N(code_first_line, O(PyCodeObject, co_firstlineno))
#if PY_VERSION_HEX >= 0x030A0000
    printf("    lines: Lines::Table%d(%ld),\n", PY_VERSION_HEX >= 0x030B0000 ? 311 : 310, (long)O(PyCodeObject, co_linetable));
#else
    printf("    lines: Lines::Lnotab(%ld),\n", (long)O(PyCodeObject, co_lnotab));
#endif
#if PY_VERSION_HEX >= 0x030B0000
    S(code_adaptive, O(PyCodeObject, co_code_adaptive))
#else
    Z(code_adaptive)
#endif
    printf("    code: &[\n");
    FIELD("co_consts", PyCodeObject, co_consts)
    FIELD("co_names", PyCodeObject, co_names)
    FIELD("co_filename", PyCodeObject, co_filename)
    FIELD("co_name", PyCodeObject, co_name)
#if PY_VERSION_HEX >= 0x030B0000
    FIELD("co_exceptiontable", PyCodeObject, co_exceptiontable)
    FIELD("co_localsplusnames", PyCodeObject, co_localsplusnames)
    FIELD("co_localspluskinds", PyCodeObject, co_localspluskinds)
    FIELD("co_qualname", PyCodeObject, co_qualname)
    FIELD("co_linetable", PyCodeObject, co_linetable)
#else
    FIELD("co_code", PyCodeObject, co_code)
    FIELD("co_varnames", PyCodeObject, co_varnames)
    FIELD("co_freevars", PyCodeObject, co_freevars)
    FIELD("co_cellvars", PyCodeObject, co_cellvars)
#if PY_VERSION_HEX >= 0x030A0000
    FIELD("co_linetable", PyCodeObject, co_linetable)
#else
    FIELD("co_lnotab", PyCodeObject, co_lnotab)
#endif
#endif
    printf("    ],\n");
    printf("    function: &[\n");
    FIELD("__defaults__", PyFunctionObject, func_defaults)
    FIELD("__kwdefaults__", PyFunctionObject, func_kwdefaults)
    FIELD("__closure__", PyFunctionObject, func_closure)
    FIELD("__dict__", PyFunctionObject, func_dict)
    FIELD("__code__", PyFunctionObject, func_code)
    FIELD("__doc__", PyFunctionObject, func_doc)
    FIELD("__name__", PyFunctionObject, func_name)
    FIELD("__qualname__", PyFunctionObject, func_qualname)
    FIELD("__module__", PyFunctionObject, func_module)
    FIELD("__annotations__", PyFunctionObject, func_annotations)
#if PY_VERSION_HEX >= 0x030C0000
    FIELD("__type_params__", PyFunctionObject, func_typeparams)
#endif
#if PY_VERSION_HEX >= 0x030E0000
    FIELD("__annotate__", PyFunctionObject, func_annotate)
#endif
    FIELD("__globals__", PyFunctionObject, func_globals)
#if PY_VERSION_HEX >= 0x030A0000
    FIELD("__builtins__", PyFunctionObject, func_builtins)
#endif
    printf("    ],\n");
    N(module_dict, O(Module, md_dict))
    N(module_name, O(Module, md_name))
    N(tuple_items, O(PyTupleObject, ob_item))
    N(type_size, sizeof(PyTypeObject))
    N(heap_type_size, sizeof(PyHeapTypeObject))
    N(cached_keys, O(PyHeapTypeObject, ht_cached_keys))
    printf("    heap_type: &[\n");
    FIELD("__name__", PyHeapTypeObject, ht_name)
    FIELD("__slots__", PyHeapTypeObject, ht_slots)
    FIELD("__qualname__", PyHeapTypeObject, ht_qualname)
#if PY_VERSION_HEX >= 0x03090000
    FIELD("module", PyHeapTypeObject, ht_module)
#endif
    printf("    ],\n");
    N(heap_type_qualname, O(PyHeapTypeObject, ht_qualname))
#if PY_VERSION_HEX >= 0x030D0000
    printf("    attributes: Attributes::Inline,\n");
#elif PY_VERSION_HEX >= 0x030C0000
    printf("    attributes: Attributes::Tagged,\n");
#elif PY_VERSION_HEX >= 0x030B0000
    printf("    attributes: Attributes::Apart,\n");
#else
    printf("    attributes: Attributes::Dict,\n");
#endif
    printf("    keys: Keys::%s,\n", PY_VERSION_HEX >= 0x030B0000 ? "Packed" : "Wide");
    printf("    digits: Digits::%s,\n", PY_VERSION_HEX >= 0x030C0000 ? "Tag" : "Sign");
    printf("    reference_mask: %s,\n", PY_VERSION_HEX >= 0x030E0000 ? "0xffff_ffff" : "u64::MAX");
    N(str_state_shift, 2)
    N(ascii_size, sizeof(PyASCIIObject))
    N(compact_size, sizeof(PyCompactUnicodeObject))
    N(unicode_size, sizeof(PyUnicodeObject))
    return 0;
}
