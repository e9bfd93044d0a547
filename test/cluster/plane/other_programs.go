package plane

// StartBeside starts one more controller of others, under the administrator's account, and waits until it listens where
// its last port tells. args gets as many free ports as it asks for. It ends with the control plane.
func (pl *Plane) StartBeside(name, path string, ports int, args func(port []int) []string) error {
	port, err := FreePorts(ports)
	if err != nil {
		return err
	}
	return pl.StartAt(name, path, port[ports-1], args(port)...)
}

// StartAt starts a program of others at a port of the caller's, and waits until it listens there.
func (pl *Plane) StartAt(name, path string, port int, args ...string) error {
	p := pl.process(name, path, args...)
	pl.mu.Lock()
	pl.beside = append(pl.beside, p)
	pl.mu.Unlock()
	if err := pl.start(p, "HOME="+pl.Dir); err != nil {
		return err
	}
	return ready(p, patience, func() error { return listening(port) })
}
