// The modules carry headers only: no dictionary.
#ifdef __CLING__

#pragma link off all globals;
#pragma link off all classes;
#pragma link off all functions;

#endif
