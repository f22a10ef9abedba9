/* What a file of loops ends with: the module that holds them as ufuncs, and the table of its users.
 */
#define COUNT (sizeof(entries) / sizeof(*entries))
static PyUFuncGenericFunction functions[] = {run, run};
static void *data[COUNT][2];
#define ROW_COUNT (sizeof(row_entries) / sizeof(*row_entries))
static PyUFuncGenericFunction row_functions[] = {run_rows, run_rows};
static void *row_data[ROW_COUNT][2];

static int fill(PyObject *module) {
    PyObject *found = PyDict_New();
    if (found == NULL || PyModule_AddObject(module, "loops", found) < 0) {
        Py_XDECREF(found);
        return -1;
    }
    for (size_t i = 0; i < COUNT; i++) {
        const Entry *entry = &entries[i];
        for (int k = 0; k < 2; k++) data[i][k] = (void *)&entry->kernels[k];
        PyObject *ufunc = PyUFunc_FromFuncAndData(functions, data[i], (char *)entry->types, 2,
                                                  entry->operands, entry->results, PyUFunc_None,
                                                  entry->name, "One pass over its operands.", 0);
        if (ufunc == NULL || PyDict_SetItemString(found, entry->name, ufunc) < 0) {
            Py_XDECREF(ufunc);
            return -1;
        }
        Py_DECREF(ufunc);
    }
    for (size_t i = 0; i < ROW_COUNT; i++) {
        const RowEntry *entry = &row_entries[i];
        for (int k = 0; k < 2; k++) row_data[i][k] = (void *)&entry->kernels[k];
        PyObject *ufunc = PyUFunc_FromFuncAndDataAndSignature(
            row_functions, row_data[i], (char *)entry->types, 2, entry->operands, entry->results,
            PyUFunc_None, entry->name, "One row of each operand at a time.", 0, entry->signature);
        if (ufunc == NULL || PyDict_SetItemString(found, entry->name, ufunc) < 0) {
            Py_XDECREF(ufunc);
            return -1;
        }
        Py_DECREF(ufunc);
    }
    for (size_t i = 0; i < sizeof(written) / sizeof(*written); i++) {
        Written *each = &written[i];
        PyObject *ufunc = PyUFunc_FromFuncAndDataAndSignature(
            each->functions, each->data, each->types, each->kinds, each->operands, each->results,
            PyUFunc_None, each->name, "A loop that is written by hand.", 0, each->signature);
        if (ufunc == NULL || PyDict_SetItemString(found, each->name, ufunc) < 0) {
            Py_XDECREF(ufunc);
            return -1;
        }
        Py_DECREF(ufunc);
    }
    PyObject *users = PyBytes_FromStringAndSize((const char *)table, sizeof(table));
    if (users == NULL || PyModule_AddObject(module, "table", users) < 0) {
        Py_XDECREF(users);
        return -1;
    }
    return 0;
}

static PyMethodDef methods[] = {
    {"narrow", narrow_form, METH_O, "The form of a ufunc for floats of 16 bits; None if none is."},
    {NULL, NULL, 0, NULL},
};

#define JOINED(name) PyInit_##name
#define INIT(name) JOINED(name)
#define QUOTED(name) #name
#define TEXT(name) QUOTED(name)

PyMODINIT_FUNC INIT(MODULE)(void) {
    static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, TEXT(MODULE), NULL, -1,
                                            methods, NULL, NULL, NULL, NULL};
    import_array();
    import_umath();
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL && fill(module) < 0) Py_CLEAR(module);
    return module;
}
